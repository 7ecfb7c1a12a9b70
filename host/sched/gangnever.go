package sched

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// GangUnfit says whether it is certain that those members of a gang that start
// together would not fit on the present nodes, even empty, ready and not drained. It
// costs what planning them on an empty fleet does.
func GangUnfit(snap *state.Snapshot, members []*state.Job) bool {
	return neverFits(snap, members, gangOrder(members))
}

// neverFits says whether it is certain that the members would not fit all together
// even if every node were empty, ready and not drained, whatever policies say. For
// members of one request the answer is exact. Of others it is only said where one
// fits no node, or where they ask for more than there is: whether the members fit
// beside each other is bin packing, so what no order was found for may fit.
func neverFits(snap *state.Snapshot, members []*state.Job, order []int) bool {
	domains, topology := (*Domains)(nil), members[0].Gang.Topology
	if topology != nil {
		domains = NewDomains(snap, topology)
	}
	equal := !slices.ContainsFunc(members, func(j *state.Job) bool { return j.Shape != members[0].Shape })
	lacks := func(allowed func(row uint32) bool) bool {
		if equal {
			return !fitsEmpty(snap, members, order, allowed, nil)
		}
		return lacking(snap, members, allowed)
	}
	switch {
	case topology == nil:
		return lacks(func(uint32) bool { return true })
	case topology.Mode == poise.TopologySpread:
		domains.eligible(snap, members)
		within := func(row uint32) bool { return domains.Refuses(row) == 0 }
		if equal {
			return !fitsEmpty(snap, members, order, within, domains)
		}
		return lacking(snap, members, within)
	}
	for d := range domains.names {
		if !lacks(func(row uint32) bool { return domains.of[row] == int32(d) }) {
			return false
		}
	}
	return true
}

// lacking says whether one of the members fits none of the rows of an empty fleet, or
// all of them ask for more of a resource than those rows have together that hold one
// of those that ask for it. It costs a match per request, resource and row at most.
func lacking(snap *state.Snapshot, members []*state.Job, allowed func(row uint32) bool) bool {
	trial := state.NewTrial(snap, &state.Tentative{})
	trial.Empty()
	view := trial.View()
	var shapes []*fit
	known := map[*state.Shape]bool{}
	needs := map[string]int64{} // for the devices of a kind, that
	for _, j := range members {
		r := &j.Shape.Request
		for _, a := range r.Amounts {
			needs[a.Name] = capped(needs[a.Name], a.Value)
		}
		if r.Device.Count > 0 {
			needs[r.Device.Kind] = capped(needs[r.Device.Kind], r.Device.Total())
		}
		if !known[j.Shape] {
			known[j.Shape] = true
			f := &fit{}
			f.resolve(j.Shape, view)
			shapes = append(shapes, f)
		}
	}
	rows := uint32(view.Rows())
	holds := func(f *fit, row uint32) bool { return view.Present(row) && allowed(row) && f.reason(view, row) == 0 }
	for _, f := range shapes {
		row := uint32(0)
		for row < rows && !holds(f, row) {
			row++
		}
		if row == rows {
			return true
		}
	}
	for name, need := range needs {
		has := int64(0)
		for row := uint32(0); row < rows && has < need; row++ {
			has = capped(has, offer(shapes, view, row, name, holds))
		}
		if has < need {
			return true
		}
	}
	return false
}

// offer gives what a row has of a resource where it holds one of those that ask for
// it, else 0.
func offer(shapes []*fit, view *state.Snapshot, row uint32, name string, holds func(f *fit, row uint32) bool) int64 {
	for _, f := range shapes {
		if ask := &f.shape.Request.Device; ask.Count > 0 && ask.Kind == name && holds(f, row) {
			return int64(view.Devices(row)) * poise.WholeDevice
		}
		for i := range f.Dims {
			if d := &f.Dims[i]; d.Name == name && holds(f, row) {
				return view.Capacity(row, d.Dim)
			}
		}
	}
	return 0
}

// capped gives a sum, the largest int64 where it is larger.
func capped(a, b int64) int64 {
	if sum, ok := resource.Add(a, b); ok {
		return sum
	}
	return math.MaxInt64
}

// fitsEmpty places members first fit on an empty fleet, and counts those of a spread.
func fitsEmpty(snap *state.Snapshot, members []*state.Job, order []int, allowed func(row uint32) bool, counts *Domains) bool {
	trial := state.NewTrial(snap, &state.Tentative{})
	trial.Empty()
	view := trial.View()
	var f fit
	from := uint32(0)
	for _, i := range order {
		j := members[i]
		if f.resolve(j.Shape, view) || counts != nil {
			from = 0
		}
		row := from
		for row < uint32(view.Rows()) && !(view.Present(row) && allowed(row) && f.reason(view, row) == 0) {
			row++
		}
		if row == uint32(view.Rows()) {
			return false
		}
		from = row
		if err := trial.Place(j, row, lowestFree(view.Free(row), &j.Shape.Request.Device)); err != nil {
			return false
		}
		if counts != nil {
			counts.Add(row)
		}
	}
	return true
}

// lowestFree gives the first devices that have enough free.
func lowestFree(free []uint16, ask *poise.DeviceRequest) []uint16 {
	var chosen []uint16
	for i, f := range free {
		if len(chosen) < int(ask.Count) && int32(f) >= ask.Milli {
			chosen = append(chosen, uint16(i))
		}
	}
	return chosen
}
