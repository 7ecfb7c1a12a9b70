//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"go.uber.org/goleak"
)

// The test binary is its own shim and its own daemon.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "task-shim":
			os.Exit(RunShim(os.Args[2:]))
		case "daemon":
			os.Exit(runDaemon(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// patience is far beyond what anything here takes.
const patience = 60 * time.Second

func options(t testing.TB, dir string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Dir: dir, Shim: shimOf(self), Now: present}
}

// shimOf is the test binary as a shim. Under the race detector it would take a
// second to exit.
func shimOf(self string) []string {
	return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "task-shim"}
}

// world is an engine under test with what it reported.
type world struct {
	*Engine
	t    testing.TB
	mu   sync.Mutex
	seen map[string][]engine.Status
	news chan struct{}
	stop func()
	gone atomic.Bool // stopped
}

func open(t testing.TB, opt Options) *world {
	t.Helper()
	e, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Engine: e, t: t, seen: map[string][]engine.Status{}, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Watch(ctx, func(s engine.Status) { // ends with ctx only
			w.mu.Lock()
			w.seen[s.Placement] = append(w.seen[s.Placement], s)
			w.mu.Unlock()
			select {
			case w.news <- struct{}{}:
			default:
			}
		})
	}()
	w.stop = sync.OnceFunc(func() {
		w.gone.Store(true)
		cancel()
		<-done
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if !w.gone.Load() {
			w.endAll()
		}
		w.stop()
	})
	return w
}

// endAll ends what a test has left running: it would outlive the test.
func (w *world) endAll() {
	var left []string
	w.mu.Lock()
	for p, all := range w.seen {
		if !all[len(all)-1].State.Ended() {
			left = append(left, p)
		}
	}
	w.mu.Unlock()
	for _, p := range left {
		if err := w.Evict(context.Background(), p, 0); err == nil {
			w.end(p)
		}
	}
}

func fresh(t testing.TB) *world { return open(t, options(t, t.TempDir())) }

// sh is a binding of a shell command.
func sh(placement, script string) engine.Binding {
	return engine.Binding{Placement: placement, Job: "job-1", Name: "job", Tenant: "t", Node: "n", Command: []string{"/bin/sh", "-c", script}}
}

func (w *world) bind(b engine.Binding) {
	w.t.Helper()
	if err := w.Bind(context.Background(), b); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for a status of a placement that is as wanted.
func (w *world) until(placement string, want func(engine.Status) bool) engine.Status {
	w.t.Helper()
	late := time.After(patience)
	for {
		w.mu.Lock()
		for _, s := range w.seen[placement] {
			if want(s) {
				w.mu.Unlock()
				return s
			}
		}
		w.mu.Unlock()
		select {
		case <-w.news:
		case <-late:
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Fatalf("%s: never as wanted: %+v", placement, w.seen[placement])
		}
	}
}

func (w *world) end(placement string) engine.Status {
	w.t.Helper()
	return w.until(placement, func(s engine.Status) bool { return s.State.Ended() })
}

func (w *world) running(placement string) engine.Status {
	w.t.Helper()
	return w.until(placement, func(s engine.Status) bool { return s.State == engine.Running })
}

// run runs a binding to its end.
func (w *world) run(b engine.Binding) engine.Status {
	w.t.Helper()
	w.bind(b)
	return w.end(b.Placement)
}

// file waits for a file that holds a whole line, and gives the line.
func file(t testing.TB, path string) string {
	t.Helper()
	var text []byte
	eventually(t, "a line in "+filepath.Base(path), func() bool {
		text, _ = os.ReadFile(path)
		return strings.HasSuffix(string(text), "\n")
	})
	return strings.TrimSpace(string(text))
}

// eventually waits for a condition that no event tells of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never came: %s", what)
		}
	}
}

// alive says whether a pid in text is a process that is not dead.
func alive(t testing.TB, text string) bool {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(text, &pid); err != nil {
		t.Fatalf("pid %q: %v", text, err)
	}
	p, err := look(pid, "")
	return err == nil && !p.dead()
}

func spanOf(d time.Duration) poise.Span { return poise.Span(d.Milliseconds()) }
