// Package cert has the certificate that the daemon shows, and knows whom the
// certificates of callers stand for. It may import host/access and host/poise. It
// always holds that what is served is a whole pair, a certificate and its key,
// and that a bad one on disk never takes the place of a good one.
package cert
