package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// fataler is a test, a benchmark or a property.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func newQueue(t fataler) *Queue {
	t.Helper()
	q, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func mustPush(t fataler, q *Queue, items ...Item) {
	t.Helper()
	for _, item := range items {
		if err := q.Push(item); err != nil {
			t.Fatal(err)
		}
	}
}

func mustPark(t fataler, q *Queue, item Item, blocked Causes, version uint64, now poise.Time) {
	t.Helper()
	if err := q.Park(item, blocked, version, now); err != nil {
		t.Fatal(err)
	}
}

// drain pops all that is ready and gives the jobs in that order.
func drain(q *Queue, now poise.Time) []poise.JobID {
	var ids []poise.JobID
	for {
		item, ok := q.Pop(now)
		if !ok {
			return ids
		}
		ids = append(ids, item.Job)
	}
}

func expectCounts(t *testing.T, q *Queue, ready, parked, delayed int) {
	t.Helper()
	if q.Ready() != ready || q.Parked() != parked || q.Delayed() != delayed || q.Len() != ready+parked+delayed {
		t.Fatalf("ready %d, parked %d, delayed %d of %d, expected %d, %d, %d",
			q.Ready(), q.Parked(), q.Delayed(), q.Len(), ready, parked, delayed)
	}
}

func TestPopOrder(t *testing.T) {
	f := func(want []poise.JobID, items ...Item) {
		t.Helper()
		for range 2 { // in both orders of arrival
			q := newQueue(t)
			mustPush(t, q, items...)
			var all []poise.JobID
			for item := range q.All() {
				all = append(all, item.Job)
			}
			if got := drain(q, 0); !slices.Equal(got, want) || !slices.Equal(all, want) {
				t.Fatalf("popped %v, listed %v, expected %v", got, all, want)
			}
			slices.Reverse(items)
		}
	}
	const step = poise.Time(10 * minute)
	f(nil)
	f([]poise.JobID{"urgent", "old"}, Item{Job: "old", Submitted: 0}, Item{Job: "urgent", Priority: 1, Submitted: step - 1})
	f([]poise.JobID{"old", "urgent"}, Item{Job: "old", Submitted: 0}, Item{Job: "urgent", Priority: 1, Submitted: step + 1})
	// Equal keys: the larger first, devices before cpu before memory.
	f(
		[]poise.JobID{"gpu", "cpu", "memory", "first", "second"},
		Item{Job: "second", Shape: 4, Seq: 9},
		Item{Job: "first", Shape: 4, Seq: 8},
		Item{Job: "memory", Shape: 3, Size: Size{Memory: 1 << 40}, Seq: 7},
		Item{Job: "cpu", Shape: 2, Size: Size{CPU: 1}, Seq: 10},
		Item{Job: "gpu", Shape: 1, Size: Size{Devices: 1}, Priority: 1, Submitted: step, Seq: 11},
	)
	// A millisecond outweighs any size.
	f([]poise.JobID{"small", "large"},
		Item{Job: "small", Shape: 1, Submitted: 1, Seq: 2}, Item{Job: "large", Shape: 2, Size: Size{Devices: 8000}, Submitted: 2, Seq: 1})
	// Even where a caller gives one arrival number twice the order is fixed.
	f([]poise.JobID{"a", "b", "c"}, Item{Job: "c"}, Item{Job: "a"}, Item{Job: "b", Shape: 1})
}

func TestSizeOf(t *testing.T) {
	amounts, err := resource.NewList(
		resource.Amount{Name: "memory", Value: 1 << 30},
		resource.Amount{Name: "cpu", Value: 2500},
		resource.Amount{Name: "storage", Value: 7},
	)
	if err != nil {
		t.Fatal(err)
	}
	f := func(r poise.Request, want Size) {
		t.Helper()
		if got := SizeOf(&r); got != want {
			t.Fatalf("got %+v, expected %+v", got, want)
		}
	}
	f(poise.Request{}, Size{})
	f(poise.Request{Amounts: amounts}, Size{CPU: 2500, Memory: 1 << 30})
	f(poise.Request{Amounts: amounts, Device: poise.DeviceRequest{Kind: "gpu", Count: 8, Milli: 1000}}, Size{Devices: 8000, CPU: 2500, Memory: 1 << 30})
	f(poise.Request{Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 250}}, Size{Devices: 250})
}

func TestPopGivesTheItemBack(t *testing.T) {
	q := newQueue(t)
	want := Item{Job: "x", Shape: 7, Priority: -3, Submitted: 12345, Size: Size{1, 2, 3}, Seq: 99}
	mustPush(t, q, want)
	if got, ok := q.Pop(0); !ok || got != want {
		t.Fatalf("got %+v %v, expected %+v", got, ok, want)
	}
	if len(q.groups) != 0 {
		t.Fatalf("%d groups left in an empty queue", len(q.groups))
	}
}

func TestRefusedItems(t *testing.T) {
	q := newQueue(t)
	mustPush(t, q, Item{Job: "x", Shape: 1, Size: Size{CPU: 1000}})
	f := func(item Item, kind poise.Kind, text string) {
		t.Helper()
		_, delayErr := q.Delay(item, 1, 0, 0)
		for _, err := range []error{q.Push(item), q.Park(item, Devices, 0, 0), delayErr} {
			if err == nil || poise.KindOf(err) != kind || err.Error() != text {
				t.Fatalf("got %v (%v), expected %s", err, poise.KindOf(err), text)
			}
		}
		if q.Len() != 1 || len(q.groups) != 1 {
			t.Fatalf("a refused item left something: %d jobs, %d groups", q.Len(), len(q.groups))
		}
	}
	f(Item{Job: "x", Shape: 1, Size: Size{CPU: 1000}}, poise.Conflict, `queue job "x": job: waits already, expected one that does not`)
	f(Item{Job: "x", Shape: 2}, poise.Conflict, `queue job "x": job: waits already, expected one that does not`)
	f(Item{}, poise.Invalid, `queue job "": job: empty, expected an id`)
	f(Item{Job: "y", Shape: 2, Submitted: MaxTime + 1}, poise.Invalid,
		`queue job "y": submitted: 2305843009213693953 ms, expected -2305843009213693952 to 2305843009213693952`)
	f(Item{Job: "y", Shape: 2, Submitted: -MaxTime - 1}, poise.Invalid,
		`queue job "y": submitted: -2305843009213693953 ms, expected -2305843009213693952 to 2305843009213693952`)
	f(Item{Job: "y", Shape: 1, Size: Size{CPU: 2000}}, poise.Invalid,
		`queue job "y": size: {Devices:0 CPU:2000 Memory:0}, expected {Devices:0 CPU:1000 Memory:0} as the other jobs of shape 1 have`)
}

func TestSettings(t *testing.T) {
	f := func(change func(*Settings), want string) {
		t.Helper()
		s := Defaults()
		change(&s)
		_, err := New(s)
		if want == "" && err == nil {
			return
		}
		if err == nil || err.Error() != "queue settings: "+want || poise.KindOf(err) != poise.Invalid {
			t.Fatalf("got %v, expected %q", err, want)
		}
	}
	f(func(*Settings) {}, "")
	f(func(s *Settings) { s.Step = 1 }, "")
	f(func(s *Settings) { s.Step = 86_400_000 }, "")
	f(func(s *Settings) { s.Step = 0 }, "step: 0 ms, expected 1 to 86400000")
	f(func(s *Settings) { s.Step = 86_400_001 }, "step: 86400001 ms, expected 1 to 86400000")
	f(func(s *Settings) { s.Sweep = 999 }, "sweep: 999 ms, expected 1000 to 86400000")
	f(func(s *Settings) { s.RetryMax = 0 }, "retry max: 0 ms, expected 1 to 86400000")
	f(func(s *Settings) { s.RetryBase = 300_001 }, "retry base: 300001 ms, expected 1 to 300000")
}

// B24: 1000 jobs at the front that cannot run cost one attempt, and those
// behind them start in the same pass.
func TestUnschedulableJobsDoNotUseTheWindow(t *testing.T) {
	q := newQueue(t)
	for i := range 1000 {
		mustPush(t, q, Item{Job: poise.JobID(fmt.Sprintf("stuck-%d", i)), Shape: 1, Priority: 9, Seq: uint64(i)})
	}
	mustPush(t, q, Item{Job: "a", Shape: 2, Priority: 1, Seq: 1000}, Item{Job: "b", Shape: 2, Priority: 1, Seq: 1001})
	var started []poise.JobID
	attempts := 0
	for {
		item, ok := q.Pop(0)
		if !ok {
			break
		}
		attempts++
		if item.Shape == 1 {
			mustPark(t, q, item, Described|Joined, 1, 0)
			continue
		}
		started = append(started, item.Job)
	}
	if attempts != 3 || !slices.Equal(started, []poise.JobID{"a", "b"}) {
		t.Fatalf("%d attempts, started %v, expected 3 and [a b]", attempts, started)
	}
	expectCounts(t, q, 0, 1000, 0)
	// A late comer of the stuck shape costs no attempt, however urgent.
	mustPush(t, q, Item{Job: "late", Shape: 1, Priority: 99, Seq: 1002})
	if item, ok := q.Pop(0); ok {
		t.Fatalf("popped %v of a parked shape", item)
	}
}

// B25: of equal jobs, those that were popped and pushed again keep their place.
func TestRetriedJobsKeepTheirPlace(t *testing.T) {
	f := func(shapes int, back func(*Queue, Item) error) {
		t.Helper()
		q := newQueue(t)
		var want []poise.JobID
		for i := range 100 {
			id := poise.JobID(fmt.Sprintf("job-%d", i))
			want = append(want, id)
			mustPush(t, q, Item{Job: id, Shape: ShapeID(i % shapes), Seq: uint64(i)})
		}
		var popped []Item
		for range 30 {
			item, _ := q.Pop(0)
			popped = append(popped, item)
		}
		for _, i := range []int{7, 3, 29, 0} { // in any order
			popped[0], popped[i] = popped[i], popped[0]
		}
		for _, item := range popped {
			if err := back(q, item); err != nil {
				t.Fatal(err)
			}
		}
		q.Wake(Devices, 9)
		if got := drain(q, 24*60*minute); !slices.Equal(got, want) {
			t.Fatalf("popped %v, expected %v", got, want)
		}
	}
	for _, shapes := range []int{1, 3, 100} {
		f(shapes, func(q *Queue, item Item) error { return q.Push(item) })
		f(shapes, func(q *Queue, item Item) error { return q.Park(item, Devices, 1, 0) })
		f(shapes, func(q *Queue, item Item) error {
			_, err := q.Delay(item, 5, 1, 0)
			return err
		})
	}
}

// B30, without reservations: a large job is offered what becomes free before
// every small job that came later, and ageing bounds how long jobs of higher
// priority can go first.
func TestLaterJobsDoNotOvertakeForEver(t *testing.T) {
	q := newQueue(t)
	mustPush(t, q, Item{Job: "big", Shape: 1, Submitted: 0, Size: Size{CPU: 8000}})
	const urgent = 10
	var now poise.Time
	var seq uint64
	for {
		seq++
		mustPush(t, q, Item{Job: "small", Shape: 2, Priority: urgent, Submitted: now, Seq: seq, Size: Size{CPU: 1000}})
		item, ok := q.Pop(now)
		if !ok {
			t.Fatal("nothing popped")
		}
		if item.Job == "big" {
			break
		}
		now += second
	}
	if want := poise.Time(urgent * Defaults().Step); now != want {
		t.Fatalf("big was popped at %d ms, expected %d ms", now, want)
	}
}

func TestRemove(t *testing.T) {
	q := newQueue(t)
	for i, shape := range []ShapeID{1, 1, 1, 2, 3, 4} {
		mustPush(t, q, Item{Job: poise.JobID(fmt.Sprint(i)), Shape: shape, Seq: uint64(i)})
	}
	first, _ := q.Pop(0)
	mustPark(t, q, first, Devices, 1, 0) // 0, 1 and 2 wait with it
	item, _ := q.Pop(0)
	if _, err := q.Delay(item, 1, 1, 0); err != nil { // 3
		t.Fatal(err)
	}
	expectCounts(t, q, 2, 3, 1)
	f := func(id poise.JobID, want bool, ready, parked, delayed int) {
		t.Helper()
		if got := q.Remove(id); got != want {
			t.Fatalf("remove %s: %v, expected %v", id, got, want)
		}
		expectCounts(t, q, ready, parked, delayed)
	}
	f("absent", false, 2, 3, 1)
	f("1", true, 2, 2, 1)
	f("1", false, 2, 2, 1)
	f("0", true, 2, 1, 1)
	f("3", true, 2, 1, 0)
	f("4", true, 1, 1, 0)
	f("2", true, 1, 0, 0)
	if _, ok := q.NextWake(); ok {
		t.Fatal("a time to wake though nothing is parked or delayed")
	}
	f("5", true, 0, 0, 0)
	if len(q.groups) != 0 {
		t.Fatalf("%d groups left in an empty queue", len(q.groups))
	}
}
