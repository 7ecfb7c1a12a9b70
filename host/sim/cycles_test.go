package sim

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestCycles(t *testing.T) {
	f := func(name string, want int, events ...poise.Event) {
		t.Helper()
		c := Cycles{Least: 100}
		for _, ev := range events {
			c.Follow(ev)
		}
		if c.Found != want {
			t.Errorf("%s: %d circles, expected %d", name, c.Found, want)
		}
	}
	place := func(at poise.Time, id poise.JobID) poise.Event {
		return poise.Event{At: at, Body: poise.JobPlaced{Placement: poise.Placement{Job: id}}}
	}
	ends := func(at poise.Time, id, by poise.JobID) poise.Event {
		return poise.Event{At: at, Body: poise.JobPreempted{Job: id, By: by}}
	}
	f("one makes room", 0, place(0, "a"), ends(5, "a", "b"), place(5, "b"))
	f("two in turn", 1, place(0, "a"), ends(5, "a", "b"), place(5, "b"), ends(7, "b", "a"))
	f("and again", 2, place(0, "a"), ends(5, "a", "b"), place(5, "b"), ends(7, "b", "a"), place(7, "a"), ends(9, "a", "b"))
	f("three", 1, place(0, "a"), ends(5, "a", "b"), place(5, "b"), ends(7, "b", "c"), place(7, "c"), ends(9, "c", "a"))
	f("one ran long enough", 0, place(0, "a"), ends(5, "a", "b"), place(5, "b"), ends(105, "b", "a"))
	f("one ended", 0, place(0, "a"), ends(5, "a", "b"), place(5, "b"), poise.Event{At: 6, Body: poise.JobFinished{Job: "b"}},
		place(6, "a"), ends(7, "a", "b"))
}
