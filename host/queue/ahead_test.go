package queue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// What goes before a job is what the whole order has before it, whether it is
// ready or parked.
func TestAheadIsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(t)
		n := rapid.IntRange(1, 40).Draw(t, "jobs")
		for i := range n {
			shape := rapid.IntRange(1, 5).Draw(t, "shape")
			mustPush(t, q, Item{
				Job: poise.JobID(fmt.Sprint("j", i)), Shape: ShapeID(shape), Seq: uint64(i),
				Priority: int32(rapid.IntRange(0, 2).Draw(t, "priority")), Size: Size{CPU: int64(shape)},
			})
		}
		parked := map[poise.JobID]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "parked") {
			if item, ok := q.Pop(0); ok {
				mustPark(t, q, item, Joined, 1, 0)
			}
		}
		for _, g := range q.parked {
			for _, e := range g.jobs {
				parked[e.job.id] = true
			}
		}
		order := slices.Collect(q.All())
		at := rapid.IntRange(0, n-1).Draw(t, "job")
		limit := rapid.IntRange(0, 45).Draw(t, "limit")
		got, ok := q.Ahead(order[at].Job, limit)
		if !ok || got.Jobs != min(at, limit) || got.More != (at > limit) {
			t.Fatalf("%+v %v, expected %d jobs up to %d", got, ok, at, limit)
		}
		if got.More {
			return // which ones are named is of those that were counted
		}
		waits := 0
		for i, item := range order[:at] {
			if i < firstAhead && got.First[i] != item.Job {
				t.Fatalf("first %v, expected %s at %d", got.First, item.Job, i)
			}
			if parked[item.Job] {
				waits++
			}
		}
		if got.Parked != waits {
			t.Fatalf("%d parked, expected %d", got.Parked, waits)
		}
	})
}

// A delayed job has no place in the order, and is none that goes before others.
func TestAheadWithoutDelayed(t *testing.T) {
	q := newQueue(t)
	late := Item{Job: "late", Shape: 1, Priority: 9}
	if _, err := q.Delay(late, 1, 0, 0); err != nil {
		t.Fatal(err)
	}
	mustPush(t, q, Item{Job: "b", Shape: 1, Seq: 1})
	if a, ok := q.Ahead("b", 10); !ok || a.Jobs != 0 {
		t.Errorf("%+v %v", a, ok)
	}
	if _, ok := q.Ahead("late", 10); ok {
		t.Error("a delayed job has a place")
	}
	if _, ok := q.Ahead("nobody", 10); ok {
		t.Error("an unknown job has a place")
	}
}

// A job that is parked waits for what the first of its shape waits for.
func TestLike(t *testing.T) {
	q := newQueue(t)
	a, b, other := Item{Job: "a", Shape: 1, Seq: 1}, Item{Job: "b", Shape: 1, Seq: 2}, Item{Job: "c", Shape: 2, Seq: 3}
	mustPush(t, q, a, b, other)
	if like, ok := q.Like("b"); ok {
		t.Errorf("%s, expected none while it may be tried", like)
	}
	item, _ := q.Pop(0)
	mustPark(t, q, item, Joined, 1, 0)
	if like, ok := q.Like("b"); !ok || like != "a" {
		t.Errorf("%s %v, expected a", like, ok)
	}
	if _, ok := q.Like("c"); ok {
		t.Error("a job of another shape waits for the same")
	}
	if all := q.Alike("b"); len(all) != 2 || all[0] != "a" || all[1] != "b" {
		t.Errorf("%v, expected a and b", all)
	}
	if all := q.Alike("c"); len(all) > 0 {
		t.Errorf("%v, expected none while it may be tried", all)
	}
}
