package sched

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Fit is the native filter for the jobs of one shape, for whoever looks at rows
// without a policy.
type Fit struct{ fit fit }

// NewFit gives the filter for a shape on a snapshot, and on the trials on it.
func NewFit(shape *state.Shape, snap *state.Snapshot) *Fit {
	f := &Fit{}
	f.fit.resolve(shape, snap)
	return f
}

// Reason says why a present row cannot take a job of the shape, 0 for nothing.
func (f *Fit) Reason(snap *state.Snapshot, row uint32) poise.Reason { return f.fit.reason(snap, row) }

// GangOrder gives the order in which the members of a gang are placed, as their
// indexes.
func GangOrder(members []*state.Job) []int { return gangOrder(members) }
