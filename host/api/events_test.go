package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// submit makes n events.
func submit(t *testing.T, b *apitest.Backend, n int) {
	t.Helper()
	for range n {
		if _, err := b.Submit(t.Context(), "default", []client.JobSpec{{Name: "j"}}, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// frames reads so many events of a stream as they stand there.
func frames(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	var all strings.Builder
	buf := make([]byte, 1)
	for strings.Count(all.String(), "\n\n") < n {
		if _, err := r.Read(buf); err != nil {
			t.Fatalf("%v after %q", err, all.String())
		}
		all.Write(buf)
	}
	return all.String()
}

func TestStream(t *testing.T) {
	b := apitest.New()
	submit(t, b, 3)
	s := serve(t, b, generous, func(s *server) { s.keepAlive = 10 * time.Millisecond })
	f := func(query, last, want string) {
		t.Helper()
		r, err := http.NewRequest("GET", s.url+"/v1/events"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %q", got)
		}
		got := strings.ReplaceAll(frames(t, answer.Body, 1), ":\n\n", "")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s, last %q: %q, expected %q", query, last, got, want)
		}
	}
	f("", "", "id: 1\nevent: job-submitted\ndata: {\"index\":1,\"at\":\"2026-01-02T03:04:05Z\",\"kind\":\"job-submitted\",\"job\":\"id-1\",\"body\":{}}\n\n")
	f("?after=2", "", "id: 3\n")
	f("", "2", "id: 3\n")
	f("?after=1", "2", "id: 3\n")
	f("?after=3", "", "") // nothing but signs of life
	s.refused(422, "GET", "/v1/events", "", "Last-Event-ID", "x")
}

// What ends the events ends the stream, with a word on it.
func TestStreamFault(t *testing.T) {
	b := apitest.New()
	b.Fault = &poise.Error{Kind: poise.NotFound, Detail: "after: 5, which is no longer kept"}
	c := dial(t, serve(t, b, generous).url)
	err := c.Events(t.Context(), 5, func(client.Event) error { return nil })
	if poise.KindOf(err) != poise.NotFound || !strings.Contains(err.Error(), "no longer kept") {
		t.Errorf("%v, expected the daemon's own error", err)
	}
}

// A watcher gets every event once and in order, however often the connection
// breaks.
func TestResume(t *testing.T) {
	const events, per = 60, 7
	b := apitest.New()
	submit(t, b, events/2)
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := Server(New(b, Options{Limits: generous, Log: discard()}), Timeouts{Request: 20 * time.Second, Idle: time.Minute})
	h.ConnState = func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		open[c] = s != http.StateClosed
	}
	run(t, h, l)
	cut := func() {
		mu.Lock()
		defer mu.Unlock()
		for c, is := range open {
			if is {
				c.Close()
			}
		}
	}
	var got []uint64
	enough := errors.New("enough")
	err = dial(t, l.Addr().String()).Events(t.Context(), 2, func(e client.Event) error {
		got = append(got, e.Index)
		if len(got)%per == 0 {
			cut()
		}
		if e.Index == events/2 {
			submit(t, b, events/2)
		}
		if e.Index == events {
			return enough
		}
		return nil
	})
	var want []uint64
	for i := uint64(3); i <= events; i++ {
		want = append(want, i)
	}
	if err != enough || !slices.Equal(got, want) {
		t.Errorf("%v, events %v, expected %v", err, got, want)
	}
}

func TestEventsEnd(t *testing.T) {
	b := apitest.New()
	submit(t, b, 1)
	c := dial(t, serve(t, b, generous).url)
	ctx, cancel := context.WithCancelCause(t.Context())
	over := fmt.Errorf("over")
	if err := c.Events(ctx, 0, func(client.Event) error { cancel(over); return nil }); err != over {
		t.Errorf("%v, expected the context's own cause", err)
	}
}
