package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

const (
	// silence is how long a stream may be quiet: the daemon shows every 15 s that
	// it is there.
	silence = time.Minute
	// Between attempts to take up a stream again.
	firstRetry, lastRetry = 200 * time.Millisecond, 5 * time.Second
	// maxEvent bounds a line of a stream in bytes.
	maxEvent = 64 << 20
)

// Events hands fn every event after an index, history first, then what happens,
// each once and in order. Where the stream breaks off it is taken up again,
// until ctx ends, fn gives an error or the daemon refuses; what ended it is the
// error. A daemon that is not there at the start is an error too.
func (c *Client) Events(ctx context.Context, after uint64, fn func(Event) error) error {
	for pause, begun := firstRetry, false; ; pause = min(2*pause, lastRetry) {
		opened, last, err := c.events(ctx, after, fn)
		if last > after {
			pause = firstRetry
		}
		after, begun = last, begun || opened
		var own *ownError
		switch {
		case errors.As(err, &own):
			return own.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !begun:
			return err
		}
		if k := poise.KindOf(err); k != poise.Unavailable && k != poise.Limit {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// ownError is what the caller's function gave.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }

// events reads one stream to its end and says whether there was one, which event
// was the last, and why it ended.
func (c *Client) events(ctx context.Context, after uint64, fn func(Event) error) (bool, uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.send(ctx, call{
		method: http.MethodGet, path: at("events"),
		header: http.Header{"Last-Event-ID": {strconv.FormatUint(after, 10)}, "Accept": {"text/event-stream"}},
	})
	if err != nil {
		return false, after, err
	}
	defer answer.Body.Close()
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	err = readStream(answer.Body, func() { watch.Reset(silence) }, func(name string, data []byte) error {
		if name == "error" {
			var p Problem
			_ = json.Unmarshal(data, &p) // without a problem, the status says it
			return p.problemError(p.Status)
		}
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("read the event after %d", after), Err: err}
		}
		if e.Index <= after {
			return nil // told already
		}
		if err := fn(e); err != nil {
			return &ownError{err}
		}
		after = e.Index
		return nil
	})
	return true, after, err
}

// readStream reads server-sent events: line is told of every line, event of
// every event. An end of the stream is Unavailable.
func readStream(r io.Reader, line func(), event func(name string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	name, data, any := "", []byte(nil), false
	for lines.Scan() {
		line()
		text := lines.Bytes()
		if len(text) == 0 {
			if any {
				if err := event(name, data); err != nil {
					return err
				}
			}
			name, data, any = "", nil, false
			continue
		}
		field, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if any {
				data = append(data, '\n')
			}
			data, any = append(data, value...), true
		}
	}
	err := lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return &poise.Error{Kind: poise.Unavailable, Op: "watch events", Err: err}
}
