package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// fit is the native filter for one job shape: every requested dimension,
// devices, selectors, taints, node states. It cannot be switched off. Amounts
// of 0 ask for nothing, and a dimension that a node does not declare is 0.
type fit struct {
	model.Ask
	shape *state.Shape
	// preferred is the sum of the weights of what the shape prefers.
	preferred int64
	// What Ask was resolved against: nodes may declare more later.
	knownDims, knownKinds, knownModels int
}

// resolve looks up the shape's names in the snapshot's symbols, if those grew,
// and says whether they did: what was answered before may name a dimension as
// undeclared that is declared now.
func (f *fit) resolve(shape *state.Shape, snap *state.Snapshot) bool {
	if f.shape == shape && f.knownDims == len(snap.Dims()) && f.knownKinds == len(snap.Kinds()) && f.knownModels == len(snap.Models()) {
		return false
	}
	f.shape = shape
	f.knownDims, f.knownKinds, f.knownModels = len(snap.Dims()), len(snap.Kinds()), len(snap.Models())
	f.Resolve(shape, snap)
	return true
}

// reason tests one row in the order of the codes.
func (f *fit) reason(snap *state.Snapshot, row uint32) poise.Reason {
	if !f.labelsMatch(snap, row) {
		return poise.NewReason(poise.SelectorMismatch, 0)
	}
	if !f.tolerated(snap, row) {
		return poise.NewReason(poise.TaintNotTolerated, 0)
	}
	ask := &f.shape.Request.Device
	if ask.Count > 0 {
		switch {
		case f.Kind < 0 || int(snap.Kind(row)) != f.Kind:
			return poise.NewReason(poise.DeviceKindMissing, 0)
		case len(f.Models) > 0 && !f.Models[snap.Model(row)]:
			return poise.NewReason(poise.DeviceModelMismatch, 0)
		case ask.Shared() && snap.Exclusive(row):
			return poise.NewReason(poise.DeviceExclusive, 0)
		}
	}
	for i := range f.Dims {
		d := &f.Dims[i]
		if d.Dim < 0 {
			return poise.NewReason(poise.CapacityShort, poise.Undeclared)
		}
		if snap.Capacity(row, d.Dim) < d.Amount {
			return poise.NewReason(poise.CapacityShort, d.Dim)
		}
	}
	if snap.Devices(row) < int(ask.Count) {
		return poise.NewReason(poise.DeviceCapacityShort, 0)
	}
	if !snap.Schedulable(row) {
		if snap.NotReady(row) {
			return poise.NewReason(poise.NodeNotReady, 0)
		}
		return poise.NewReason(poise.NodeDrained, 0)
	}
	for i := range f.Dims {
		if d := &f.Dims[i]; snap.Idle(row, d.Dim) < d.Amount {
			return poise.NewReason(poise.IdleShort, d.Dim)
		}
	}
	if ask.Count > 0 && devicesFree(snap.Free(row), ask.Milli) < ask.Count {
		return poise.NewReason(poise.DeviceIdleShort, 0)
	}
	if snap.Taken(row, f.shape.Ports) != nil {
		return poise.NewReason(poise.PortTaken, 0)
	}
	return 0
}

func (f *fit) labelsMatch(snap *state.Snapshot, row uint32) bool {
	if len(f.shape.Selectors)+len(f.shape.AnyOf) == 0 {
		return true
	}
	labels := snap.Labels(row)
	return matchesAll(f.shape.Selectors, labels) && f.anyTerm(labels)
}

// anyTerm says whether a node with these labels matches one of the shape's terms.
func (f *fit) anyTerm(labels []poise.Label) bool {
	return len(f.shape.AnyOf) == 0 || slices.ContainsFunc(f.shape.AnyOf, func(t poise.Term) bool { return t.Matches(labels) })
}

func (f *fit) tolerated(snap *state.Snapshot, row uint32) bool {
	if !snap.Tainted(row) {
		return true
	}
	taints := snap.Taints(row)
	for i := range taints {
		if !poise.Tolerates(f.shape.Tolerations, &taints[i]) {
			return false
		}
	}
	return true
}

// devicesFree counts the devices with at least so much free.
func devicesFree(free []uint16, milli int32) int32 {
	n := int32(0)
	for _, f := range free {
		if int32(f) >= milli {
			n++
		}
	}
	return n
}
