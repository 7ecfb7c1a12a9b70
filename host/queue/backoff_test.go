package queue

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestBackoff(t *testing.T) {
	s := Defaults()
	f := func(attempt int, low, high poise.Span) {
		t.Helper()
		seen := map[poise.Span]bool{}
		for i := range 200 {
			id := poise.JobID(fmt.Sprint(i))
			d := Backoff(s.RetryBase, s.RetryMax, id, attempt, 42)
			if d < low || d > high {
				t.Fatalf("attempt %d of job %s: %d ms, expected %d to %d", attempt, id, d, low, high)
			}
			if d != Backoff(s.RetryBase, s.RetryMax, id, attempt, 42) {
				t.Fatal("the same retry has two delays")
			}
			seen[d] = true
		}
		if len(seen) < 100 {
			t.Fatalf("attempt %d: 200 jobs have only %d delays", attempt, len(seen))
		}
	}
	f(1, 500, 1000)
	f(2, 1000, 2000)
	f(4, 4000, 8000)
	f(9, 128_000, 256_000)
	f(10, 150_000, 300_000)
	f(math.MaxInt, 150_000, 300_000)
	if Backoff(s.RetryBase, s.RetryMax, "a", 9, 1) == Backoff(s.RetryBase, s.RetryMax, "a", 9, 2) {
		t.Fatal("the seed changes nothing")
	}
	s.RetryBase, s.RetryMax = 1, 1
	if d := Backoff(s.RetryBase, s.RetryMax, "a", 1, 1); d != 1 {
		t.Fatalf("%d ms, expected 1", d)
	}
	// A fixed value: recorded decisions depend on it.
	s = Defaults()
	if d := Backoff(s.RetryBase, s.RetryMax, "job-1", 3, 7); d != 3451 {
		t.Fatalf("%d ms, expected 3451", d)
	}
}

func TestDelay(t *testing.T) {
	q := newQueue(t)
	mustPush(t, q, Item{Job: "a", Seq: 1}, Item{Job: "b", Seq: 2}, Item{Job: "c", Seq: 3})
	a, _ := q.Pop(0)
	due, err := q.Delay(a, 3, 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := q.NextWake(); !ok || at != due {
		t.Fatalf("next wake at %d %v, expected %d", at, ok, due)
	}
	// Its shape is not held up.
	if got, _ := q.Pop(due - 1); got.Job != "b" {
		t.Fatalf("popped %q, expected b", got.Job)
	}
	// When due it is before the others again.
	if got := drain(q, due); !slices.Equal(got, []poise.JobID{"a", "c"}) {
		t.Fatalf("popped %v, expected [a c]", got)
	}
}

func TestDelayedJobJoinsItsParkedShape(t *testing.T) {
	q := newQueue(t)
	mustPush(t, q, Item{Job: "a", Seq: 1}, Item{Job: "b", Seq: 2})
	a, _ := q.Pop(0)
	due, err := q.Delay(a, 1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := q.Pop(0)
	mustPark(t, q, b, Devices, 1, 0)
	if at, _ := q.NextWake(); at != due {
		t.Fatalf("next wake at %d, expected %d", at, due)
	}
	if got := drain(q, due); len(got) != 0 {
		t.Fatalf("popped %v of a parked shape", got)
	}
	expectCounts(t, q, 0, 2, 0)
	q.Wake(Devices, 2)
	if got := drain(q, due); !slices.Equal(got, []poise.JobID{"a", "b"}) {
		t.Fatalf("popped %v, expected [a b]", got)
	}
}

// Each delay has its own bound: a clock that was set back ends the one that is
// longer than its own, and not the one that may be as long.
func TestDefer(t *testing.T) {
	q := newQueue(t)
	for _, e := range []struct {
		id      poise.JobID
		due     poise.Time
		longest poise.Span
	}{{"soon", 10 * minute, 10 * minute}, {"late", 11 * minute, 60 * minute}} {
		if err := q.Defer(Item{Job: e.id, Seq: uint64(e.due)}, e.due, e.longest); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Defer(Item{Job: "late"}, 0, 1); poise.KindOf(err) != poise.Conflict {
		t.Fatalf("%v, expected a job that waits to be refused", err)
	}
	if at, ok := q.NextWake(); !ok || at != 10*minute {
		t.Fatalf("next wake at %d %v", at, ok)
	}
	if got := drain(q, -minute); !slices.Equal(got, []poise.JobID{"soon"}) {
		t.Fatalf("popped %v, expected [soon]", got)
	}
	if got := drain(q, 11*minute-1); len(got) != 0 {
		t.Fatalf("popped %v before its time", got)
	}
	if got := drain(q, 11*minute); !slices.Equal(got, []poise.JobID{"late"}) {
		t.Fatalf("popped %v, expected [late]", got)
	}
}

func TestDelayRefusesAttemptZero(t *testing.T) {
	q := newQueue(t)
	_, err := q.Delay(Item{Job: "a"}, 0, 0, 0)
	if err == nil || err.Error() != `queue job "a": attempt: 0, expected 1 or more` || q.Len() != 0 {
		t.Fatalf("got %v, %d jobs", err, q.Len())
	}
}

func TestDelayAfterTheClockWasSetBack(t *testing.T) {
	q := newQueue(t)
	if _, err := q.Delay(Item{Job: "a"}, 1, 0, 10*60*minute); err != nil {
		t.Fatal(err)
	}
	if got := drain(q, 0); !slices.Equal(got, []poise.JobID{"a"}) {
		t.Fatalf("popped %v, expected [a]: its delay is at most five minutes", got)
	}
}

func TestLaterStopsAtTheEndOfTime(t *testing.T) {
	f := func(at poise.Time, s poise.Span, want poise.Time) {
		t.Helper()
		if got := later(at, s); got != want {
			t.Fatalf("got %d, expected %d", got, want)
		}
	}
	f(5, 7, 12)
	f(math.MinInt64, 7, math.MinInt64+7)
	f(math.MaxInt64-7, 7, math.MaxInt64)
	f(math.MaxInt64-6, 7, math.MaxInt64)
}
