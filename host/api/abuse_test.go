package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
)

func TestLargeBody(t *testing.T) {
	s := serve(t, apitest.New(), func() Limits { return Limits{MaxBody: 1000, Rate: 1e6, Burst: 1e6} })
	f := func(status, size int, length int64) {
		t.Helper()
		text := `{"jobs": [{"job": "a", "request": {}}]}`
		r, err := http.NewRequest("POST", s.url+"/v1/jobs", strings.NewReader(text+strings.Repeat(" ", size-len(text))))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("%d bytes, length %d: %d, expected %d", size, length, answer.StatusCode, status)
		}
	}
	f(201, 1000, 1000)
	f(413, 1001, 1001)
	f(201, 1000, -1) // in chunks, its length unknown
	f(413, 1001, -1)
	f(413, 1<<20, -1)
}

func TestRate(t *testing.T) {
	rate := 0.0001
	s := serve(t, apitest.New(), func() Limits { return Limits{MaxBody: 1000, Rate: rate, Burst: 3} })
	for i := range 3 {
		if answer, _ := s.ask("GET", "/v1/jobs", ""); answer.StatusCode != 200 {
			t.Errorf("request %d: %d, expected 200", i, answer.StatusCode)
		}
	}
	s.refused(429, "GET", "/v1/jobs", "")
	if answer, _ := s.ask("GET", "/healthz", ""); answer.StatusCode != 200 {
		t.Errorf("healthz: %d, expected no limit on it", answer.StatusCode)
	}
	rate = 1e9 // as after a change of the configuration
	for range 100 {
		if answer, _ := s.ask("GET", "/v1/jobs", ""); answer.StatusCode == 200 {
			return
		}
	}
	t.Error("a larger rate lets no more through")
}

// What a client leaves unsaid, or unread, costs it the connection.
func TestSlowClients(t *testing.T) {
	b := apitest.New()
	b.Output = func() (io.ReadCloser, error) { return io.NopCloser(endless{}), nil }
	s := newServer(b, Options{Limits: generous, Log: discard()})
	s.patience = 100 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, Server(s.handler(nil), Timeouts{Request: time.Second, Idle: time.Second}), l)
	f := func(say, want string) {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil { // a test that fails, not one that hangs
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, say); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("after %.40q: %v, expected the connection closed", say, err)
		}
		if !strings.HasPrefix(string(text), want) {
			t.Errorf("after %.40q: %.60q, expected %q", say, text, want)
		}
	}
	f("", "")
	f("GET /v1/jobs HTTP/1.1\r\nHost: x\r\n", "")
	f("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", "HTTP/1.1 408 ")
	f("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc", "HTTP/1.1 408 ")
	f("GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 ") // and idle behind it
	f("GET /v1/jobs HTTP/1.1\r\nHost: x\r\nA: "+strings.Repeat("a", maxHeader+8<<10), "HTTP/1.1 431 ")

	// A reader that does not read: the handler is done when its place is free.
	if _, err := b.Submit(t.Context(), "default", []client.JobSpec{{Name: "a"}}, ""); err != nil {
		t.Fatal(err)
	}
	s.streams = make(chan struct{}, 1)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /v1/jobs/a/logs HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := bufio.NewReader(io.LimitReader(c, 16)).ReadString(' '); err != nil { // the stream is open
		t.Fatal(err)
	}
	select {
	case s.streams <- struct{}{}:
	case <-time.After(30 * time.Second):
		t.Error("a reader that does not read holds its stream")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestTooManyStreams(t *testing.T) {
	b := apitest.New()
	s := serve(t, b, generous, func(s *server) { s.streams = make(chan struct{}, 1) })
	r, err := http.Get(s.url + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	s.refused(429, "GET", "/v1/events", "")
	r.Body.Close()
	s.server.streams <- struct{}{} // free again, or the test hangs
}

// A page of another site cannot act through a browser.
func TestOrigins(t *testing.T) {
	s := serve(t, apitest.New(), generous)
	s.refused(403, "POST", "/v1/classes/rebuild", "", "Origin", "https://evil.example")
	s.refused(403, "POST", "/v1/classes/rebuild", "", "Sec-Fetch-Site", "cross-site")
	if answer, _ := s.ask("POST", "/v1/classes/rebuild", "", "Origin", s.url); answer.StatusCode != 200 {
		t.Errorf("own origin: %d, expected 200", answer.StatusCode)
	}
}
