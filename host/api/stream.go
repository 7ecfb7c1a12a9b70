package api

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/poise-sched/poise/host/poise"
)

// stream is an answer that goes on for as long as there is something to say.
type stream struct {
	patience time.Duration
	call     *call

	mu  sync.Mutex
	w   http.ResponseWriter
	ctl *http.ResponseController
}

// open takes a place among the open streams, which the function that it gives
// gives back.
func (s *server) open() (func(), error) {
	select {
	case s.streams <- struct{}{}:
		return func() { <-s.streams }, nil
	default:
		return nil, &poise.Error{Kind: poise.Limit, Detail: "streams: too many are open, expected fewer"}
	}
}

func (s *server) newStream(ctx huma.Context, contentType string) (*stream, error) {
	_, w := humago.Unwrap(ctx)
	st := &stream{patience: s.patience, call: callOf(ctx.Context()), w: w, ctl: http.NewResponseController(w)}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// The request is there; from here on, reading only tells whether the client
	// is.
	if err := st.ctl.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return st, st.Flush()
}

// errEnded ends the stream of a caller who may act no more.
var errEnded = errors.New("the caller may act no more")

// Write sends a piece at once, if the caller may still have it.
func (st *stream) Write(p []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.call.still() {
		return 0, errEnded
	}
	if err := st.ctl.SetWriteDeadline(time.Now().Add(st.patience)); err != nil {
		return 0, err
	}
	n, err := st.w.Write(p)
	if err == nil {
		err = st.ctl.Flush()
	}
	return n, err
}

// Flush sends the header.
func (st *stream) Flush() error {
	_, err := st.Write(nil)
	return err
}
