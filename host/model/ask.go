package model

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Ask is a job's request with its names looked up in a snapshot's symbols.
type Ask struct {
	Dims   []DimAsk // amounts above 0
	Device *poise.DeviceRequest
	Kind   int    // symbol of the device kind, -1 where no node has it
	Models []bool // by model symbol, whether it is allowed; empty = any
}

// DimAsk is the amount asked for in one dimension.
type DimAsk struct {
	Dim    int // -1 where no node has ever declared it
	Name   string
	Amount int64
}

// Resolve looks up a shape's names. It must be done anew when the snapshot has
// more symbols.
func (a *Ask) Resolve(shape *state.Shape, snap *state.Snapshot) {
	a.Dims, a.Models = a.Dims[:0], a.Models[:0]
	for _, amount := range shape.Request.Amounts {
		if amount.Value > 0 {
			a.Dims = append(a.Dims, DimAsk{Dim: slices.Index(snap.Dims(), amount.Name), Name: amount.Name, Amount: amount.Value})
		}
	}
	a.Device = &shape.Request.Device
	a.Kind = slices.Index(snap.Kinds(), a.Device.Kind)
	if len(a.Device.Models) > 0 {
		for _, m := range snap.Models() {
			a.Models = append(a.Models, slices.Contains(a.Device.Models, m))
		}
	}
}
