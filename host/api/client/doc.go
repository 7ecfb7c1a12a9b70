// Package client speaks to a Poise daemon: it has the types that go over the
// wire and a method for every endpoint of the HTTP API, over TCP or a Unix
// socket. It may import host/poise, host/resource and the standard library, and
// nothing of the daemon. Amounts are quantities of host/resource, times are RFC
// 3339, field names are those of the job and node files, so that a JobSpec as
// JSON is a job document; every error of a method is a poise.Error whose kind is
// that of the daemon's, or Unavailable where the daemon does not answer.
package client

// DefaultTenant is the one tenant that there is where nobody has to say who
// they are.
const DefaultTenant = "default"
