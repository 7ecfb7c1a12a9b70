package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func task(placement string, length poise.Span) engine.Binding {
	return engine.Binding{Placement: placement, RunTime: length}
}

// scene runs f in a bubble with an engine, and gives all that was watched, with
// times from the start of the bubble.
func scene(t *testing.T, opt Options, f func(e *Engine)) []engine.Status {
	t.Helper()
	var seen []engine.Status
	synctest.Test(t, func(t *testing.T) {
		began := stamp(time.Now())
		e, err := New(opt)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- e.Watch(ctx, func(s engine.Status) {
				s.Started -= began
				if s.Ended != 0 {
					s.Ended -= began
				}
				seen = append(seen, s)
			})
		}()
		synctest.Wait()
		f(e)
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("watch ended with %v", err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return seen
}

func TestScaledTime(t *testing.T) {
	seen := scene(t, Options{Scale: 60, Default: 120_000}, func(e *Engine) {
		for _, b := range []engine.Binding{task("long", 600_000), task("short", 60_000), task("default", 0), task("short", 1), task("same", 60_000)} {
			if err := e.Bind(t.Context(), b); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour) // in the bubble
	})
	var got []string
	for _, s := range seen {
		got = append(got, fmt.Sprintf("%s %s %d-%d", s.Placement, s.State, s.Started, s.Ended))
	}
	want := []string{
		"long running 0-0", "short running 0-0", "default running 0-0", "same running 0-0",
		"short succeeded 0-1000", "same succeeded 0-1000", "default succeeded 0-2000", "long succeeded 0-10000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

func TestEvictAndForget(t *testing.T) {
	ctx := t.Context()
	kind := func(err error, want poise.Kind) {
		t.Helper()
		if err == nil || poise.KindOf(err) != want {
			t.Errorf("%v, expected an error of kind %s", err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	seen := scene(t, Options{Scale: 1}, func(e *Engine) {
		must(e.Bind(ctx, task("endless", 0)))
		must(e.Bind(ctx, task("evicted", 1000)))
		must(e.Bind(ctx, task("done", 1000)))
		kind(e.Evict(ctx, "unknown", 0), poise.NotFound)
		kind(e.Forget(ctx, "evicted"), poise.Conflict)
		must(e.Forget(ctx, "unknown"))
		must(e.Evict(ctx, "evicted", 5000))
		must(e.Forget(ctx, "evicted"))
		time.Sleep(time.Hour)
		must(e.Evict(ctx, "done", 0))
		must(e.Forget(ctx, "done"))
		kind(e.Bind(ctx, engine.Binding{}), poise.Invalid)
	})
	var got []string
	for _, s := range seen {
		if s.State != engine.Running {
			got = append(got, fmt.Sprintf("%s %s %d %s %s at %d", s.Placement, s.State, s.ExitCode, s.Signal, s.Detail, s.Ended))
		}
	}
	want := []string{"evicted failed 143 SIGTERM evicted at 0", "done succeeded 0   at 1000"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

func TestThousands(t *testing.T) {
	run := func() []engine.Status {
		return scene(t, Options{Scale: 1000}, func(e *Engine) {
			r := rand.New(rand.NewSource(1))
			for i := range 5000 {
				if err := e.Bind(t.Context(), task(fmt.Sprintf("p%d", i), poise.Span(1+r.Intn(1_000_000)))); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			time.Sleep(time.Minute)
		})
	}
	first := run()
	if len(first) != 10_000 {
		t.Fatalf("%d changes, expected a start and an end of 5000 tasks", len(first))
	}
	if !slices.IsSortedFunc(first, func(a, b engine.Status) int { return int(max(a.Started, a.Ended) - max(b.Started, b.Ended)) }) {
		t.Error("changes out of order")
	}
	if !slices.Equal(first, run()) {
		t.Error("a second run differs")
	}
}

func TestNewRefuses(t *testing.T) {
	f := func(opt Options) {
		t.Helper()
		if _, err := New(opt); poise.KindOf(err) != poise.Invalid {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	f(Options{})
	f(Options{Scale: -1})
	f(Options{Scale: math.NaN()})
	f(Options{Scale: math.Inf(1)})
	f(Options{Scale: 1, Default: -1})
}

func TestLength(t *testing.T) {
	f := func(scale float64, declared poise.Span, want time.Duration, ends bool) {
		t.Helper()
		e := &Engine{opt: Options{Scale: scale}}
		if got, ok := e.length(declared); got != want || ok != ends {
			t.Errorf("%v %v, expected %v %v", got, ok, want, ends)
		}
	}
	f(1, 1, time.Millisecond, true)
	f(1000, 1, time.Microsecond, true)
	f(1e12, 1, 0, true)
	f(0.5, 1, 2*time.Millisecond, true)
	f(1, math.MaxInt64, 0, false)
	f(math.SmallestNonzeroFloat64, 1, 0, false)
	f(1, 0, 0, false)
}
