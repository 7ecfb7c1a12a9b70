package state

import (
	"fmt"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// A million jobs wait in at most 800 MB because one is small: a field that few of them
// have goes into More.
func TestJobIsSmall(t *testing.T) {
	if got := unsafe.Sizeof(Job{}); got > 112 {
		t.Errorf("a job takes %d bytes, expected at most 112", got)
	}
}

// A copy of a job says what it said when it was made, and what jobs share is never
// written: not by holding, failing, displacing or waiting for others.
func TestMoreIsImmutable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		d.do(t, poise.NodeJoined{Node: poise.Node{Name: "n", Capacity: amounts("cpu", 2)}})
		ids := []string{"a", "b", "c"}
		type copied struct {
			job  Job
			says string
		}
		var kept []copied
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			id := poise.JobID(rapid.SampledFrom(ids).Draw(t, "job"))
			other := poise.JobID(rapid.SampledFrom(ids).Draw(t, "other"))
			spec := job(string(id), poise.Request{Amounts: amounts("cpu", 1)})
			if rapid.Bool().Draw(t, "after") {
				spec.After = []poise.JobID{other}
			}
			bodies := []poise.Body{
				poise.JobSubmitted{Job: spec},
				placed(string(id), "n"),
				poise.JobFinished{Job: id},
				poise.JobRequeued{Job: id, NotBefore: d.now + 3, Failed: true},
				poise.JobRequeued{Job: id},
				poise.JobHeld{Job: id, By: "t"},
				poise.JobReleased{Job: id},
				poise.JobWithdrawn{Job: id},
				poise.JobPreempted{Job: id, By: other, Until: d.now + 9},
				poise.JobSpared{Job: id, Until: d.now + 9},
				poise.JobEnding{Job: id},
			}
			_ = d.try(rapid.SampledFrom(bodies).Draw(t, "event")) // most apply
			for _, j := range d.All() {
				kept = append(kept, copied{*j, moreText(j)})
			}
		}
		for _, k := range kept {
			if now := moreText(&k.job); now != k.says {
				t.Fatalf("a copy of job %s said %s and says %s", k.job.ID, k.says, now)
			}
		}
		if !nothingMore.zero() {
			t.Fatalf("what jobs share was written: %+v", *nothingMore)
		}
	})
}

func moreText(j *Job) string {
	spec := j.Spec()
	return lifeText(&spec, j.NotBefore, j.Failures) + fmt.Sprintf(" %+v", j.Yield)
}
