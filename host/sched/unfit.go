package sched

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Unfit gives, for a job that no present node could hold even empty, ready and
// not drained, the decision that says so in full, and nil for any other. It stops
// at the first node that could, so it costs a look at every node only where
// there is none. Policies are not asked: what they refuse may pass (B37).
func Unfit(snap *state.Snapshot, job *state.Job) (*poise.Decision, error) {
	var f fit
	f.resolve(job.Shape, snap)
	for row := range uint32(snap.Rows()) {
		if snap.Present(row) && !f.reason(snap, row).Code().Lasting() {
			return nil, nil
		}
	}
	d, err := NewPipeline(Policy{Name: "fit"}).Plan(snap, job, Pass{Detail: Full})
	return &d, err
}
