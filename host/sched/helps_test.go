package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// without gives the shape changed as a help says, or false where it is the node
// that has to change. less is how much less than Beyond is taken off.
func without(shape *state.Shape, h *poise.Help, less int64) (*state.Shape, bool) {
	s := *shape
	s.Request.Amounts = slices.Clone(s.Request.Amounts)
	ask := &s.Request.Device
	switch h.Code {
	case poise.SelectorMismatch:
		s.Selectors = slices.DeleteFunc(slices.Clone(s.Selectors), func(x poise.Selector) bool { return x.Key == h.What })
	case poise.TaintNotTolerated:
		s.Tolerations = append(slices.Clone(s.Tolerations), poise.Toleration{Exists: true})
	case poise.DeviceKindMissing:
		*ask = poise.DeviceRequest{}
	case poise.DeviceModelMismatch:
		ask.Models = nil
	case poise.DeviceExclusive:
		ask.Milli = poise.WholeDevice
	case poise.IdleShort:
		i := slices.IndexFunc(s.Request.Amounts, func(a resource.Amount) bool { return a.Name == h.Dim })
		s.Request.Amounts[i].Value -= h.Beyond - less
	case poise.DeviceIdleShort:
		if ask.Shared() {
			ask.Milli -= int32(h.Beyond - less)
		} else if less = (less + poise.WholeDevice - 1) / poise.WholeDevice; true {
			ask.Count -= int32(h.Beyond/poise.WholeDevice - less)
		}
		if ask.Count == 0 || ask.Milli == 0 {
			*ask = poise.DeviceRequest{}
		}
	default:
		return nil, false
	}
	return &s, true
}

// checkHelps fails unless each help is true of its node, no smaller change would
// do on any node, and none that would help is missing.
func checkHelps(t fataler, snap *state.Snapshot, j *state.Job, d *poise.Decision) {
	t.Helper()
	fits := func(row uint32, shape *state.Shape) bool {
		code, _ := refusedByRule(snap, row, shape)
		return code == poise.Fits
	}
	for i := range d.Helps {
		h := &d.Helps[i]
		now, ok := without(j.Shape, h, 0)
		if !ok {
			continue
		}
		nodes := 0
		for row := range uint32(snap.Rows()) {
			if !snap.Present(row) {
				continue
			}
			if snap.Name(row) == h.Node && !fits(row, now) {
				t.Fatalf("%+v would not help on its node", h)
			}
			if h.Beyond == 0 || fits(row, j.Shape) { // a policy refuses it
				continue
			}
			if less, _ := without(j.Shape, h, 1); fits(row, less) {
				t.Fatalf("%+v: a smaller change would do on node %s", h, snap.Name(row))
			}
			if fits(row, now) {
				nodes++
			}
		}
		// Those that need more are counted too. Who asks for no device any more
		// fits on nodes of another kind.
		if nodes > h.Nodes && (h.Code != poise.DeviceIdleShort || now.Request.Device.Count > 0) {
			t.Fatalf("%+v: helps on %d nodes", h, nodes)
		}
	}
	if d.Verdict == poise.Placed || len(d.Helps) == maxHelps {
		return
	}
	for _, a := range j.Shape.Request.Amounts {
		checkMissing(t, snap, j, d, &poise.Help{Code: poise.IdleShort, Dim: a.Name, Beyond: a.Value}, fits)
	}
	for i := range j.Shape.Selectors {
		checkMissing(t, snap, j, d, &poise.Help{Code: poise.SelectorMismatch, What: j.Shape.Selectors[i].Key}, fits)
	}
	if j.Shape.Request.Device.Count > 0 {
		checkMissing(t, snap, j, d, &poise.Help{Code: poise.DeviceModelMismatch, Dim: j.Shape.Request.Device.Kind}, fits)
	}
}

// checkMissing fails if a change would help somewhere and the decision does not
// say so.
func checkMissing(t fataler, snap *state.Snapshot, j *state.Job, d *poise.Decision, change *poise.Help, fits func(uint32, *state.Shape) bool) {
	t.Helper()
	shape, _ := without(j.Shape, change, 0)
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) || fits(row, j.Shape) || !fits(row, shape) {
			continue
		}
		if !slices.ContainsFunc(d.Helps, func(h poise.Help) bool { return h.Code == change.Code && h.Dim == change.Dim }) {
			t.Fatalf("node %s would do with the change %+v, which is not among %+v", snap.Name(row), change, d.Helps)
		}
	}
}
