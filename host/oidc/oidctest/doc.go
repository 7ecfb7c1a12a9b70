// Package oidctest is a small OpenID Connect provider for tests: discovery, keys,
// code logins with PKCE, device logins and refresh tokens over HTTP. It may import
// go-jose. It always holds that what it signs is real, and that it refuses what a
// provider has to refuse.
package oidctest
