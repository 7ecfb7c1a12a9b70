// Package openapi tries docs/openapi.json as somebody else's generator reads it.
// It imports nothing and has nothing but a test. The client that
// swagger-typescript-api makes of the document goes through the README's quick
// start against a real daemon; make openapi-generator installs the generator,
// from npm and at a fixed version, and without it the test skips.
package openapi
