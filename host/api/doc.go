// Package api serves a Backend over HTTP: JSON by OpenAPI 3.1, failures as RFC
// 9457 problems, events as a stream that resumes by id. It may import the core,
// host/manifest, host/api/client, huma and the rate limiter; what the daemon is
// made of is behind Backend. A spec that reaches the Backend has been read by
// host/manifest, so files, flags and HTTP have one grammar; no request can hold
// more than Options.MaxBody bytes or, event streams and followed logs apart,
// longer than the server's timeouts; and what an internal error says goes to the
// log, never to the caller.
package api
