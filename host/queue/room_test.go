package queue

import (
	"slices"
	"testing"
)

// A group that waits for room is woken where there may be some, remembers for which
// rows, and is parked again without an attempt; any other event wakes it for all.
func TestWakeRow(t *testing.T) {
	q, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Push(Item{Job: "a", Shape: 1, Seq: 1}); err != nil {
		t.Fatal(err)
	}
	park := func(blocked Causes, version uint64) {
		t.Helper()
		item, ok := q.Pop(0)
		if !ok {
			t.Fatal("nothing ready")
		}
		if err := q.Park(item, blocked, version, 0); err != nil {
			t.Fatal(err)
		}
	}
	f := func(ready bool, rows ...uint32) {
		t.Helper()
		h, ok := q.Peek(0)
		if ok != ready || ok && !slices.Equal(h.Rows(), rows) {
			t.Errorf("ready %v for %v, want %v for %v", ok, q.ready, ready, rows)
		}
	}
	yes, no := func(ShapeID) bool { return true }, func(ShapeID) bool { return false }
	f(true)
	park(Dimension(0)|Joined, 1)
	q.WakeRow(Dimension(1)|Quota, 7, 2, yes)
	f(false)
	q.WakeRow(Dimension(0)|Quota, 7, 2, no)
	f(false)
	q.WakeRow(Dimension(1)|Quota, 7, 2, yes) // the row had enough of the first and lacked this
	f(true, 7)
	q.WakeRow(Dimension(0), 8, 3, yes)
	q.WakeRow(Dimension(0), 8, 4, yes)
	f(true, 7, 8)
	q.ParkHead(4, 0)
	f(false)
	q.Wake(Dimension(0), 4)
	f(false)
	q.WakeRow(Dimension(0), 9, 5, yes)
	q.Wake(Joined, 6)
	f(true)
	park(Quota|Dimension(0), 6)
	q.WakeRow(Dimension(0)|Quota, 7, 7, no)
	f(true)
	park(Dimension(0), 8)
	q.WakeRow(Dimension(0), 0, 9, yes)
	for row := range uint32(2 * fewRows) {
		q.WakeRow(Dimension(0), row, 10, yes)
	}
	f(true)
	park(Dimension(0), 11)
	q.WakeRow(Dimension(0), 0, 12, yes)
	q.TryAll()
	f(true)
}
