package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

var _ Backend = (*apitest.Backend)(nil)

// generous are limits that no test meets by chance.
func generous() Limits { return Limits{MaxBody: 1 << 20, Rate: 1e6, Burst: 1e6} }

// site is an API that is served.
type site struct {
	t      *testing.T
	server *server
	url    string
	log    *bytes.Buffer
}

// serve serves a backend over TCP until the test is over; change, where given,
// comes before the first request.
func serve(t *testing.T, b Backend, lim func() Limits, change ...func(*server)) *site {
	t.Helper()
	log := &bytes.Buffer{}
	s := newServer(b, Options{Limits: lim, Log: slog.New(slog.NewTextHandler(log, nil))})
	for _, c := range change {
		c(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, Server(s.handler(nil), Timeouts{Request: 20 * time.Second, Idle: time.Minute}), l)
	return &site{t, s, "http://" + l.Addr().String(), log}
}

// run runs a server until the test is over.
func run(t *testing.T, h *http.Server, l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	h.BaseContext = func(net.Listener) context.Context { return ctx }
	h.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Serve(l) }()
	t.Cleanup(func() { cancel(); h.Close(); <-done })
}

// overSocket serves a backend on a Unix socket and gives a client of it.
func overSocket(t *testing.T, b Backend) *client.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	run(t, Server(New(b, Options{Limits: generous, Log: slog.New(slog.DiscardHandler)}), Timeouts{Request: 20 * time.Second, Idle: time.Minute}), l)
	return dial(t, "unix:"+path)
}

func dial(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.New(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ask sends a request as it is written and gives the answer with its body.
func (s *site) ask(method, path, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, string(text)
}

// refused sends a request and gives the problem that comes back.
func (s *site) refused(status int, method, path, body string, header ...string) client.Problem {
	s.t.Helper()
	answer, text := s.ask(method, path, body, header...)
	if answer.StatusCode != status {
		s.t.Fatalf("%s %s: %d %s, expected %d", method, path, answer.StatusCode, text, status)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
		s.t.Errorf("%s %s: content type %q, expected a problem", method, path, got)
	}
	var p client.Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		s.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	if p.Status != status || p.Title == "" || !strings.HasPrefix(p.Type, client.ProblemBase) {
		s.t.Errorf("%s %s: %s, expected status, title and type", method, path, text)
	}
	return p
}

func kind(k poise.Kind) string { return client.ProblemBase + k.String() }

// must gives a value, or fails the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
