package shadow

import (
	"slices"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Fleet says how full and how balanced a fleet is.
type Fleet struct {
	// Fill is the allocated part of what the present nodes have, by resource and
	// device kind. It is above 1 where nodes shrank.
	Fill map[string]float64
	// Stranded are the wholly free devices on nodes where none of the requests
	// fits that Measure was given.
	Stranded int64
	// Balance is the balance degree of the idle-balance loss, the mean over the
	// nodes: 1 where each uses its resources alike.
	Balance float64
}

// Measure measures a fleet. asks are the device requests of its time.
func Measure(snap *state.Snapshot, asks []poise.Request) (Fleet, error) {
	f := Fleet{Fill: map[string]float64{}}
	spread, err := balance.NewSpread(nil)
	if err != nil {
		return f, err
	}
	capacity, allocated := map[string]int64{}, map[string]int64{}
	nothing := state.NewJob(&poise.Job{}, &state.Shape{}, nil, 0, 0)
	nodes := 0
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		for dim, name := range snap.Dims() {
			capacity[name] += snap.Capacity(row, dim)
			allocated[name] += snap.Allocated(row, dim)
		}
		free := snap.Free(row)
		kind := snap.Kinds()[snap.Kind(row)]
		idle := int64(0)
		for _, milli := range free {
			capacity[kind] += poise.WholeDevice
			allocated[kind] += poise.WholeDevice - int64(milli)
			if milli == poise.WholeDevice {
				idle++
			}
		}
		if idle > 0 && len(asks) > 0 && !slices.ContainsFunc(asks, func(r poise.Request) bool { return fits(snap, row, &r) }) {
			f.Stranded += idle
		}
		if _, columns := spread.Explain(snap, nothing, row, nil); len(columns) > 0 {
			nodes++
			f.Balance += columns[0].Before
		}
	}
	for name, c := range capacity {
		if c > 0 {
			f.Fill[name] = float64(allocated[name]) / float64(c)
		}
	}
	if nodes > 0 {
		f.Balance /= float64(nodes)
	}
	return f, nil
}

// fits says whether what is idle on the row holds the request.
func fits(snap *state.Snapshot, row uint32, r *poise.Request) bool {
	if snap.Kinds()[snap.Kind(row)] != r.Device.Kind {
		return false
	}
	for _, a := range r.Amounts {
		dim := slices.Index(snap.Dims(), a.Name)
		if a.Value > 0 && (dim < 0 || snap.Idle(row, dim) < a.Value) {
			return false
		}
	}
	n := int32(0)
	for _, milli := range snap.Free(row) {
		if int32(milli) >= r.Device.Milli {
			n++
		}
	}
	return n >= r.Device.Count
}
