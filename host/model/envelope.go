package model

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// envelope is what no row of a set exceeds: if a request does not fit into it,
// it fits into none of them.
type envelope struct {
	capacity []int64  // largest, by dimension
	idle     []int64  // largest of the rows that take jobs
	kinds    []uint16 // device kind symbols that occur
	models   []uint16 // device model symbols that occur
	devices  int      // largest number of devices
	whole    int32    // largest number of devices free as a whole, of the rows that take jobs
	share    uint16   // largest free amount of one device, of the same
	open     bool     // a row takes jobs
}

func (e *envelope) reset(dims int) {
	e.capacity = append(e.capacity[:0], make([]int64, dims)...)
	e.idle = append(e.idle[:0], make([]int64, dims)...)
	e.kinds, e.models = e.kinds[:0], e.models[:0]
	e.devices, e.whole, e.share, e.open = 0, 0, 0, false
}

// addRow widens the envelope by a row.
func (e *envelope) addRow(snap *state.Snapshot, row uint32) {
	e.devices = max(e.devices, snap.Devices(row))
	e.addSymbols(snap.Kind(row), snap.Model(row))
	for d := range e.capacity {
		e.capacity[d] = max(e.capacity[d], snap.Capacity(row, d))
	}
	if !snap.Schedulable(row) {
		return
	}
	e.open = true
	for d := range e.idle {
		e.idle[d] = max(e.idle[d], snap.Idle(row, d))
	}
	whole := int32(0)
	for _, free := range snap.Free(row) {
		if free == poise.WholeDevice {
			whole++
		}
		e.share = max(e.share, free)
	}
	e.whole = max(e.whole, whole)
}

// add widens the envelope by another one of as many dimensions.
func (e *envelope) add(o *envelope) {
	for d := range e.capacity {
		e.capacity[d], e.idle[d] = max(e.capacity[d], o.capacity[d]), max(e.idle[d], o.idle[d])
	}
	for _, kind := range o.kinds {
		e.addSymbols(kind, 0)
	}
	for _, model := range o.models {
		e.addSymbols(0, model)
	}
	e.devices, e.whole, e.share = max(e.devices, o.devices), max(e.whole, o.whole), max(e.share, o.share)
	e.open = e.open || o.open
}

func (e *envelope) addSymbols(kind, model uint16) {
	if kind != 0 && !slices.Contains(e.kinds, kind) {
		e.kinds = append(e.kinds, kind)
	}
	if model != 0 && !slices.Contains(e.models, model) {
		e.models = append(e.models, model)
	}
}

// refuses gives a reason for which no row of the set can take the job now, or 0.
// It is in the order of the codes, as for a single row, but of the set's first
// reason: a row may have another one that comes before it.
func (e *envelope) refuses(a *Ask) poise.Reason {
	if a.Device.Count > 0 {
		if a.Kind < 0 || !slices.Contains(e.kinds, uint16(a.Kind)) {
			return poise.NewReason(poise.DeviceKindMissing, 0)
		}
		if len(a.Models) > 0 && !slices.ContainsFunc(e.models, func(m uint16) bool { return a.Models[m] }) {
			return poise.NewReason(poise.DeviceModelMismatch, 0)
		}
	}
	for _, d := range a.Dims {
		if d.Dim < 0 {
			return poise.NewReason(poise.CapacityShort, poise.Undeclared)
		}
		if e.capacity[d.Dim] < d.Amount {
			return poise.NewReason(poise.CapacityShort, d.Dim)
		}
	}
	switch {
	case e.devices < int(a.Device.Count):
		return poise.NewReason(poise.DeviceCapacityShort, 0)
	case !e.open:
		return poise.NewReason(poise.NodeDrained, 0)
	}
	for _, d := range a.Dims {
		if e.idle[d.Dim] < d.Amount {
			return poise.NewReason(poise.IdleShort, d.Dim)
		}
	}
	switch {
	case a.Device.Count == 0:
	case a.Device.Shared() && int32(e.share) < a.Device.Milli, !a.Device.Shared() && e.whole < a.Device.Count:
		return poise.NewReason(poise.DeviceIdleShort, 0)
	}
	return 0
}
