package balance

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Auto is the default scorer, the policy idle-balance: Demand for jobs that
// request a device, and for the others Spread on nodes without devices and
// Demand on nodes with them. The two forms are never compared: the pipeline
// keeps nodes with devices in a tier of their own for jobs that need none.
type Auto struct {
	spread *Spread
	demand *Demand
	tiered bool
	rows   []uint32
	at     []int
	loss   []float64
	mask   []uint32
}

// NewAuto makes the default scorer. Without tiers (protect_devices: false)
// jobs that request no device are ranked by Spread on every node, since then
// nothing keeps the two forms apart.
func NewAuto(s *Spread, d *Demand, tiered bool) *Auto {
	return &Auto{spread: s, demand: d, tiered: tiered}
}

// Epoch says which profile the losses were computed with.
func (a *Auto) Epoch(snap *state.Snapshot) uint64 { return snap.Epoch() }

// Score implements the scorer of package sched.
func (a *Auto) Score(b *state.Batch, loss []float64, devices []uint32) error {
	if b.Job.Shape.Request.Device.Count > 0 {
		return a.demand.Score(b, loss, devices)
	}
	if !a.tiered {
		return a.spread.Score(b, loss, devices)
	}
	if err := a.part(b, loss, devices, false); err != nil {
		return err
	}
	return a.part(b, loss, devices, true)
}

// part scores the rows with devices, or those without.
func (a *Auto) part(b *state.Batch, loss []float64, devices []uint32, withDevices bool) error {
	a.rows, a.at = a.rows[:0], a.at[:0]
	for i, row := range b.Rows {
		if (b.Snap.Devices(row) > 0) == withDevices {
			a.rows = append(a.rows, row)
			a.at = append(a.at, i)
		}
	}
	if len(a.rows) == 0 {
		return nil
	}
	for len(a.loss) < len(a.rows) {
		a.loss, a.mask = append(a.loss, 0), append(a.mask, 0)
	}
	batch := state.Batch{Snap: b.Snap, Job: b.Job, Rows: a.rows}
	var err error
	if withDevices {
		err = a.demand.Score(&batch, a.loss, a.mask)
	} else {
		err = a.spread.Score(&batch, a.loss, a.mask)
	}
	if err != nil {
		return err
	}
	for k, i := range a.at {
		loss[i], devices[i] = a.loss[k], a.mask[k]
	}
	return nil
}

// Explain gives the columns of the matrices for one row, in the form that
// ranked it.
func (a *Auto) Explain(snap *state.Snapshot, job *state.Job, row uint32, devices []uint16) (string, []poise.Column) {
	if job.Shape.Request.Device.Count > 0 || a.tiered && snap.Devices(row) > 0 {
		return a.demand.Explain(snap, job, row, devices)
	}
	return a.spread.Explain(snap, job, row, devices)
}
