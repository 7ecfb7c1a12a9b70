package state

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

func (d *driver) waits(t fataler, id string, cpu int) {
	t.Helper()
	d.do(t, poise.JobSubmitted{Job: poise.Job{ID: poise.JobID(id), Name: id, Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: amounts("cpu", cpu)}}})
}

func TestPreempted(t *testing.T) {
	d := newDriver(t, 0)
	f := func(id poise.JobID, want string) {
		t.Helper()
		y := d.Job(id).Yield
		var yielding []poise.JobID
		for _, j := range d.Yielding(id) {
			yielding = append(yielding, j.ID)
		}
		if got := fmt.Sprintf("by %q until %d, %d times, at %d, took %v, forced %v, %v make room", y.By, y.Until, y.Times, y.At, y.Took, y.Forced, yielding); got != want {
			t.Errorf("%s: %s\nexpected %s", id, got, want)
		}
	}
	d.do(t, poise.NodeJoined{Node: pooled("a", "", "", 0)})
	d.task(t, "1", "t", "a", 4)
	d.task(t, "2", "t", "a", 4)
	d.waits(t, "3", 8)
	d.do(t, poise.JobPreempted{Job: "2", By: "3", Until: 50}, poise.JobPreempted{Job: "1", By: "3", Until: 50})
	f("1", `by "3" until 50, 0 times, at 0, took [], forced false, [] make room`)
	f("3", `by "" until 0, 0 times, at 0, took [2 1], forced false, [1 2] make room`)
	d.State = writtenDown(t, d.State, 0)
	f("3", `by "" until 0, 0 times, at 0, took [2 1], forced false, [1 2] make room`)
	d.refused(t, `preempt job "1" for job "3": the job makes room for "3" already, expected one that does not`, poise.JobPreempted{Job: "1", By: "3"})
	d.refused(t, `preempt job "3" for job "1": the job waits, expected a placed job`, poise.JobPreempted{Job: "3", By: "1"})
	d.refused(t, `preempt job "3" for job "nobody": no such job`, poise.JobPreempted{Job: "3", By: "nobody"})

	d.do(t, poise.JobRequeued{Job: "1"})
	f("1", fmt.Sprintf(`by "" until 0, 1 times, at %d, took [], forced false, [] make room`, d.now))
	f("3", `by "" until 0, 0 times, at 0, took [2 1], forced false, [2] make room`)
	d.do(t, poise.JobFinished{Job: "2"}) // it was done before
	d.do(t, poise.JobPlaced{Placement: poise.Placement{Job: "3", Node: "a"}})
	f("3", `by "" until 0, 0 times, at 0, took [], forced true, [] make room`)
	d.State = writtenDown(t, d.State, 0)
	f("3", `by "" until 0, 0 times, at 0, took [], forced true, [] make room`)
	d.refused(t, `preempt job "3" for job "3": the other job is placed, expected one that waits`, poise.JobPreempted{Job: "3", By: "3"})
	d.do(t, poise.JobRequeued{Job: "3"}) // for another reason
	f("3", `by "" until 0, 0 times, at 0, took [], forced false, [] make room`)

	// The one for whom room is made may be gone before.
	d.do(t, poise.JobPlaced{Placement: poise.Placement{Job: "1", Node: "a"}}, poise.JobPreempted{Job: "1", By: "3"}, poise.JobWithdrawn{Job: "3"})
	d.State = writtenDown(t, d.State, 0)
	d.do(t, poise.NodeLeft{Name: "a"}, poise.JobRequeued{Job: "1"})
	if y := d.Job("1").Yield; y.Times != 2 || len(d.yields) != 0 {
		t.Errorf("%+v, %v make room, expected a second time and none", y, d.yields)
	}
}

// A job that does not have to make room after all runs on, rests until it is asked
// again, and its gang with it.
func TestSpared(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: pooled("a", "", "", 0)})
	d.task(t, "1", "t", "a", 4)
	d.task(t, "2", "t", "a", 4)
	d.waits(t, "3", 8)
	d.refused(t, `spare job "4": no such job`, poise.JobSpared{Job: "4"})
	d.refused(t, `spare job "1": the job makes room for none, expected one that does`, poise.JobSpared{Job: "1"})
	d.do(t, poise.JobPreempted{Job: "1", By: "3", Until: 50}, poise.JobPreempted{Job: "2", By: "3", Until: 50})
	d.do(t, poise.ReservationMade{Job: "3", Nodes: []string{"a"}}, poise.JobSpared{Job: "1", Until: 70})
	d.State = writtenDown(t, d.State, 0)
	j := d.Job("1")
	if y := j.Yield; y.By != "" || y.Until != 0 || y.Spared != 1 || y.Rests != 70 || j.Task().Until != 0 {
		t.Errorf("%+v, to end by %d", y, j.Task().Until)
	}
	if took := d.Job("3").Yield.Took; len(took) != 1 || !d.Claims(d.View().Reservation("3")) {
		t.Errorf("took %v, expected 2 alone", took)
	}
	d.do(t, poise.JobSpared{Job: "2", Until: 70})
	if len(d.Job("3").Yield.Took) > 0 || d.Claims(d.View().Reservation("3")) || len(d.yields) > 0 {
		t.Errorf("%+v, %v make room", d.Job("3").Yield, d.yields)
	}
	d.do(t, poise.JobPreempted{Job: "1", By: "3"}, poise.JobWithdrawn{Job: "3"}, poise.JobSpared{Job: "1", Until: 90})
	if y := d.Job("1").Yield; y.Spared != 2 || y.Rests != 90 {
		t.Errorf("%+v", y)
	}
	d.do(t, poise.JobRequeued{Job: "1"})
	if y := d.Job("1").Yield; y.Spared != 0 || y.Rests != 0 || y.Times != 0 {
		t.Errorf("%+v, expected a task that ended to be forgotten", y)
	}
}

// Others made room for a gang as a whole.
func TestGangIsForced(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: pooled("a", "", "", 0)})
	d.task(t, "1", "t", "a", 1)
	var placements []poise.Placement
	for i := range int32(2) {
		j := poise.Job{ID: poise.JobID(fmt.Sprint("g", i)), Name: "g", Tenant: "t", Tasks: 2, Gang: &poise.Gang{ID: "g", Size: 2, Index: i}, Request: poise.Request{Amounts: amounts("cpu", 1)}}
		d.do(t, poise.JobSubmitted{Job: j})
		placements = append(placements, poise.Placement{Job: j.ID, Node: "a"})
	}
	d.do(t, poise.JobPreempted{Job: "1", By: "g0"}, poise.JobRequeued{Job: "1"}, poise.GangPlaced{Placements: placements})
	if !d.Job("g0").Yield.Forced || !d.Job("g1").Yield.Forced {
		t.Error("a member is not marked")
	}
}

// A gang of which a member ends while it makes room goes on with the others, and one
// of which a member runs on does not wait as a whole.
func TestGangGoesOn(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: pooled("a", "", "", 0)})
	d.waits(t, "high", 1)
	var placements []poise.Placement
	for i := range int32(2) {
		j := poise.Job{ID: poise.JobID(fmt.Sprint("g", i)), Name: "g", Tenant: "t", Tasks: 2, Gang: &poise.Gang{ID: "g", Size: 2, Index: i}, Request: poise.Request{Amounts: amounts("cpu", 1)}}
		d.do(t, poise.JobSubmitted{Job: j})
		placements = append(placements, poise.Placement{Job: j.ID, Node: "a"})
	}
	d.do(t, poise.GangPlaced{Placements: placements}, poise.JobPreempted{Job: "g0", By: "high"}, poise.JobRequeued{Job: "g0"})
	if !d.Alone(d.Job("g0")) {
		t.Error("g0 waits for g1, which runs on")
	}
	d.do(t, poise.JobPlaced{Placement: placements[0]}, poise.JobPreempted{Job: "g0", By: "high"}, poise.JobPreempted{Job: "g1", By: "high"}, poise.JobRequeued{Job: "g0"})
	if d.Alone(d.Job("g0")) {
		t.Error("g0 does not wait for g1, which makes room too")
	}
	d.do(t, poise.JobFinished{Job: "g1"})
	if !d.Alone(d.Job("g0")) {
		t.Error("g0 waits for g1, which has ended")
	}
	d.do(t, poise.JobPlaced{Placement: placements[0]})
}

// Whatever happens, who makes room for whom is known from both ends, and a state
// that was written down knows the same.
func TestYieldsHoldTogether(t *testing.T) {
	ids := []poise.JobID{"1", "2", "3", "4", "5"}
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		d.do(t, poise.NodeJoined{Node: pooled("a", "", "", 0)})
		for _, id := range ids {
			d.waits(t, string(id), 2)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id, other := rapid.SampledFrom(ids).Draw(t, "job"), rapid.SampledFrom(ids).Draw(t, "other")
			_ = d.try(rapid.SampledFrom([]poise.Body{
				poise.JobPlaced{Placement: poise.Placement{Job: id, Node: "a"}},
				poise.JobPreempted{Job: id, By: other, Until: 7},
				poise.JobSpared{Job: id, Until: 9},
				poise.JobRequeued{Job: id},
				poise.JobFinished{Job: id},
				poise.JobWithdrawn{Job: id},
			}).Draw(t, "event"))
			if d.Job(id) == nil {
				d.waits(t, string(id), 2)
			}
			for _, j := range d.All() {
				if j.Yielding() && (j.Waiting() || !slices.Contains(d.yields[j.Yield.By], j.ID)) {
					t.Fatalf("job %s makes room for %s, who does not know", j.ID, j.Yield.By)
				}
				if j.Waiting() && (j.Yield.Spared > 0 || j.Yield.Rests > 0) {
					t.Fatalf("job %s waits, and was spared %d times", j.ID, j.Yield.Spared)
				}
				if len(j.Yield.Took) > 0 && !j.Waiting() {
					t.Fatalf("job %s runs, and %v make room for it", j.ID, j.Yield.Took)
				}
			}
			for by, those := range d.yields {
				for _, id := range those {
					if j := d.Job(id); j == nil || j.Yield.By != by {
						t.Fatalf("%s is to make room for %s, and does not", id, by)
					}
				}
			}
		}
		if got, want := imageText(t, writtenDown(t, d.State, 0)), imageText(t, d.State); got != want {
			t.Fatalf("\n%s\nexpected\n%s", got, want)
		}
	})
}
