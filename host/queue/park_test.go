package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestCauses(t *testing.T) {
	f := func(r poise.Reason, want Causes) {
		t.Helper()
		if got := CauseOf(r); got != want {
			t.Fatalf("%v: %#x, expected %#x", r.Code(), got, want)
		}
	}
	f(poise.NewReason(poise.Fits, 0), 0)
	f(poise.NewReason(poise.IdleShort, 0), 1)
	f(poise.NewReason(poise.IdleShort, 5), 1<<5)
	f(poise.NewReason(poise.IdleShort, 47), 1<<47)
	f(poise.NewReason(poise.IdleShort, 1000), 1<<47)
	f(poise.NewReason(poise.CapacityShort, 5), Described)
	f(poise.NewReason(poise.DeviceIdleShort, 0), Devices)
	f(poise.NewReason(poise.NodeDrained, 0), Marked)
	f(poise.NewReason(poise.NodeNotReady, 0), Marked)
	f(poise.NewReason(poise.SelectorMismatch, 0), Described)
	// Every reason to refuse has a cause, or its jobs would wait for a sweep.
	for c := poise.Fits + 1; c < poise.ReasonCodes; c++ {
		if CauseOf(poise.NewReason(c, 0)) == 0 {
			t.Fatalf("%v has no cause", c)
		}
	}
	// No cause has the bit of another one.
	var all Causes
	for _, c := range []Causes{Devices, Described, Marked, Joined, Dimension(0), Dimension(46), Dimension(47)} {
		if all&c != 0 {
			t.Fatalf("cause %#x shares a bit with another", c)
		}
		all |= c
	}
}

// pass pops all that is ready, parks each with what blocks its shape and gives
// the jobs that were tried.
func pass(t *testing.T, q *Queue, blocked map[ShapeID]Causes, version uint64, now poise.Time) []poise.JobID {
	t.Helper()
	var tried []poise.JobID
	for {
		item, ok := q.Pop(now)
		if !ok {
			return tried
		}
		if tried = append(tried, item.Job); len(tried) > len(blocked) {
			t.Fatalf("%d attempts in a pass over %d shapes", len(tried), len(blocked))
		}
		mustPark(t, q, item, blocked[item.Shape], version, now)
	}
}

// B33: events that help nobody cost no attempt, one that helps costs one
// attempt for each shape that it may help.
func TestEventsWakeOnlyWhomTheyMayHelp(t *testing.T) {
	q := newQueue(t)
	blocked := map[ShapeID]Causes{}
	const shapes = 20
	for i := range ShapeID(shapes) {
		blocked[i] = Dimension(int(i)%5) | Joined
	}
	for i := range 10_000 {
		mustPush(t, q, Item{Job: poise.JobID(fmt.Sprint(i)), Shape: ShapeID(i % shapes), Seq: uint64(i)})
	}
	version := uint64(1)
	pass(t, q, blocked, version, 0)
	for now := poise.Time(0); now < 50*second; now += 10 { // 100 heartbeats a second
		version++
		if q.Wake(0, version) != 0 || q.Wake(Marked|Devices|Dimension(7), version) != 0 {
			t.Fatal("woke a group that nothing can help")
		}
		if tried := pass(t, q, blocked, version, now); len(tried) != 0 {
			t.Fatalf("tried %v after an event that helps nobody", tried)
		}
	}
	f := func(help Causes, want ...poise.JobID) {
		t.Helper()
		version++
		q.Wake(help, version)
		if tried := pass(t, q, blocked, version, 51*second); !slices.Equal(tried, want) {
			t.Fatalf("tried %v, expected %v", tried, want)
		}
		expectCounts(t, q, 0, 10_000, 0)
	}
	f(Dimension(2), "2", "7", "12", "17")
	f(Dimension(0)|Dimension(1)|Devices, "0", "1", "5", "6", "10", "11", "15", "16")
	f(Devices)
}

// B34: an event between the snapshot of an attempt and the parking of its job.
func TestNoWakeIsLost(t *testing.T) {
	const seen, after = 5, 6
	f := func(help Causes, version uint64, ready bool) {
		t.Helper()
		for _, wakeFirst := range []bool{true, false} {
			q := newQueue(t)
			mustPush(t, q, Item{Job: "a", Shape: 1, Seq: 1}, Item{Job: "b", Shape: 1, Seq: 2})
			item, _ := q.Pop(0)
			if wakeFirst {
				q.Wake(help, version)
			}
			mustPark(t, q, item, Dimension(0)|Described, seen, 0)
			if !wakeFirst {
				q.Wake(help, version)
			}
			if ready {
				expectCounts(t, q, 2, 0, 0)
			} else {
				expectCounts(t, q, 0, 2, 0)
			}
		}
	}
	f(Dimension(0), after, true)
	f(Described|Marked, after, true)
	f(Dimension(1)|Marked, after, false) // cannot help
	f(Dimension(0), seen, false)         // the attempt has seen it
	f(0, after, false)
}

// A later event of little use must not hide an earlier useful one, nor an
// earlier event a later one.
func TestWakesAreRememberedPerCause(t *testing.T) {
	q := newQueue(t)
	mustPush(t, q, Item{Job: "a"})
	item, _ := q.Pop(0)
	q.Wake(Devices, 7)
	q.Wake(Marked, 8)
	q.Wake(Devices, 3)
	mustPark(t, q, item, Devices, 6, 0)
	expectCounts(t, q, 1, 0, 0)
	item, _ = q.Pop(0)
	mustPark(t, q, item, Devices, 7, 0)
	expectCounts(t, q, 0, 1, 0)
}

// Two attempts of one shape may be under way, and end in any order.
func TestAnswersOutOfOrder(t *testing.T) {
	f := func(wakeAt uint64, firstSeen, secondSeen uint64, wantReady int) {
		t.Helper()
		q := newQueue(t)
		mustPush(t, q, Item{Job: "a", Seq: 1}, Item{Job: "b", Seq: 2})
		a, _ := q.Pop(0)
		b, _ := q.Pop(0)
		q.Wake(Devices, wakeAt)
		mustPark(t, q, a, Devices, firstSeen, 0)
		mustPark(t, q, b, Devices, secondSeen, 0)
		expectCounts(t, q, wantReady, 2-wantReady, 0)
		if wantReady == 0 && q.Wake(Devices, 10) != 1 {
			t.Fatal("the group was not woken")
		}
	}
	f(5, 5, 5, 0)
	f(5, 4, 4, 2) // neither saw the event
	f(5, 4, 5, 0) // the later answer knows better
	f(5, 5, 4, 0) // the older answer changes nothing
	f(9, 5, 6, 2)
}

// A newer answer replaces why its group is parked.
func TestParkedGroupIsParkedAgain(t *testing.T) {
	q := newQueue(t)
	mustPush(t, q, Item{Job: "a", Seq: 1}, Item{Job: "b", Seq: 2})
	a, _ := q.Pop(0)
	b, _ := q.Pop(0)
	mustPark(t, q, a, Devices, 5, 0)
	q.Wake(Marked, 7)
	mustPark(t, q, b, Marked, 6, 0)
	expectCounts(t, q, 2, 0, 0)

	a, _ = q.Pop(0)
	b, _ = q.Pop(0)
	mustPark(t, q, a, Devices, 8, 0)
	mustPark(t, q, b, Marked, 9, 0)
	if q.Wake(Devices, 10) != 0 || q.Wake(Marked, 11) != 1 {
		t.Fatal("the group waits for what blocked it before")
	}
}

func TestSweep(t *testing.T) {
	q := newQueue(t)
	sweep := poise.Time(Defaults().Sweep)
	mustPush(t, q, Item{Job: "a", Shape: 1, Seq: 1}, Item{Job: "b", Shape: 2, Seq: 2})
	a, _ := q.Pop(100)
	mustPark(t, q, a, 0, 1, 100)
	b, _ := q.Pop(30_000)
	mustPark(t, q, b, Devices, 1, 30_000)
	if at, ok := q.NextWake(); !ok || at != 100+sweep {
		t.Fatalf("next wake at %d %v, expected %d", at, ok, 100+sweep)
	}
	if _, ok := q.Pop(100 + sweep - 1); ok {
		t.Fatal("swept too early")
	}
	if got := drain(q, 100+sweep); !slices.Equal(got, []poise.JobID{"a", "b"}) {
		t.Fatalf("swept %v, expected [a b]", got)
	}
	// The clock was set back by an hour: no job waits for that hour.
	mustPush(t, q, a)
	a, _ = q.Pop(3_700_000)
	mustPark(t, q, a, Devices, 1, 3_700_000)
	if got := drain(q, 100_000); !slices.Equal(got, []poise.JobID{"a"}) {
		t.Fatalf("swept %v after the clock was set back, expected [a]", got)
	}
}
