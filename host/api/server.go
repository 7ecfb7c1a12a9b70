package api

import (
	"net/http"
	"time"
)

// Timeouts bound what a client can hold of the daemon.
type Timeouts struct {
	Request time.Duration // for a request to arrive, and as long again to be answered, streams apart
	Idle    time.Duration // between requests on one connection
}

// maxHeader bounds the header of a request in bytes.
const maxHeader = 64 << 10

// Server gives a server for a handler of New, on which a slow or half-open
// client cannot stay: streams move their own deadlines on while their reader
// reads. A shutdown waits for the streams that are open: they end with the
// server's BaseContext.
func Server(handler http.Handler, t Timeouts) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: t.Request,
		ReadTimeout:       t.Request,
		WriteTimeout:      2 * t.Request, // it counts from the header on, and a late body is to hear that it is late
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withPeer,
	}
}
