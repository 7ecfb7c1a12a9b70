package balance

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// maxPriors bounds the prior shapes, so that a fleet in which no two nodes
// describe themselves alike does not make every evaluation slow.
const maxPriors = 64

// Due says whether a new profile epoch begins with the job that has just
// arrived: at arrivals 1, 8, 32 and 128, then every interval arrivals after the
// last epoch. The interval is params.Epoch or, where that is 0, 500 up to 2,000
// nodes and twice the number of nodes above, so that scoring every node anew
// costs a bounded amount per arrival. A device kind that has joined since
// without a profile of its own makes an epoch due at once.
func Due(snap *state.Snapshot, params *Params) bool {
	arrivals := snap.Arrivals()
	switch arrivals {
	case 1, 8, 32, 128:
		return true
	}
	for _, kind := range snap.Kinds()[1:] {
		if snap.Profile(kind) == nil {
			return true
		}
	}
	var last uint64
	if d := snap.Demand(); d != nil {
		last = d.Arrivals
	}
	for _, kind := range snap.Kinds()[1:] {
		last = snap.Profile(kind).Arrivals
	}
	interval := params.Epoch
	if interval == 0 {
		interval = 500
		if n := uint64(snap.Nodes()); n > 2000 {
			interval = 2 * n
		}
	}
	return arrivals >= 128 && arrivals-max(last, 128) >= interval
}

// BuildProfiles gives the demand profile of every device kind in the fleet,
// sorted by kind, from the arrivals counted so far and the nodes as they are.
//
// Shapes: those seen, in falling weight_m = times_m * (1 + a_m) (ties: first
// seen first) until the kept weight W reaches Cover of the total or Shapes are
// kept; then one prior shape per distinct node class (cpu, memory, devices)
// that asks for the whole empty node, each of weight Epsilon*W/Z for Z classes.
// Share: p_m = weight_m / (W*(1+Epsilon)). Room: S_m = sum_i k_m(i)*a_m.
// Scarcity: h_m = p_m * (a_m/C_max) * ((S_tot+1)/(S_m+1))^Gamma.
func BuildProfiles(snap *state.Snapshot, seen []state.Seen, params *Params) []*poise.Profile {
	kinds := slices.Clone(snap.Kinds()[1:])
	slices.Sort(kinds)
	profiles := make([]*poise.Profile, len(kinds))
	for i, kind := range kinds {
		profiles[i] = buildProfile(snap, kind, seen, params)
	}
	return profiles
}

func buildProfile(snap *state.Snapshot, kind string, seen []state.Seen, params *Params) *poise.Profile {
	p := &poise.Profile{Epoch: snap.Epoch() + 1, Arrivals: snap.Arrivals(), Kind: kind}
	kept, weight := keepShapes(kind, seen, params)
	classes, largest := nodeClasses(snap, kind)
	p.LargestDevices = float64(max(largest, 1)) // a kind whose nodes have all left keeps finite numbers
	p.Shapes = kept
	norm := weight
	if len(classes) > 0 {
		norm = weight * (1 + params.Epsilon)
	}
	for _, c := range classes {
		p.Shapes = append(p.Shapes, poise.ProfileShape{
			CPU: c.cpu, Memory: c.memory, Count: c.devices, Milli: poise.WholeDevice,
			Weight: params.Epsilon * weight / float64(len(classes)), Prior: true,
		})
	}
	for m := range p.Shapes {
		p.Shapes[m].Share = p.Shapes[m].Weight / norm
	}
	addScarcity(p, snap, params)
	return p
}

// forgotten is the weight below which all that was seen of a kind counts as
// never seen: a half-life makes counts fall for ever, and shares of what is
// hardly a number any more would not add up.
const forgotten = 1e-300

// keepShapes gives the seen shapes of a kind that the profile keeps, and W.
// Until a job of the kind was seen there is none and W is 1.
func keepShapes(kind string, seen []state.Seen, params *Params) ([]poise.ProfileShape, float64) {
	var all []poise.ProfileShape
	total := 0.0
	for i := range seen {
		s := &seen[i]
		if s.Kind != kind {
			continue
		}
		m := poise.ProfileShape{CPU: s.CPU, Memory: s.Memory, Count: s.Count, Milli: s.Milli, Models: s.Models, Seen: s.Times}
		m.Weight = float64(s.Times * (1 + m.Ask()))
		total += m.Weight
		all = append(all, m)
	}
	if total < forgotten {
		return nil, 1
	}
	slices.SortStableFunc(all, func(a, b poise.ProfileShape) int { return cmp.Compare(b.Weight, a.Weight) })
	kept := 0.0
	for m := range all {
		if kept >= params.Cover*total || m == params.Shapes {
			return all[:m:m], kept
		}
		kept += all[m].Weight
	}
	return all, kept
}

type nodeClass struct {
	cpu, memory int64 // milli-cores, MiB
	devices     int32
}

// nodeClasses gives the distinct (cpu, memory, devices) of the nodes with
// devices of the kind, falling, and the devices of the largest. Where there are
// more than maxPriors, cpu and memory are rounded down to fewer and fewer
// significant bits until there are not: a shape that is a little smaller still
// asks for what only an empty node of the class can give. Of nodes so far apart
// that one bit leaves too many, the largest classes stay.
func nodeClasses(snap *state.Snapshot, kind string) ([]nodeClass, int) {
	set := map[nodeClass]bool{}
	largest := 0
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) || snap.Kinds()[snap.Kind(row)] != kind {
			continue
		}
		n := snap.Devices(row)
		largest = max(largest, n)
		set[nodeClass{cpu: snap.Capacity(row, 0), memory: snap.Capacity(row, 1) / mib, devices: int32(n)}] = true
	}
	for bits := 6; len(set) > maxPriors && bits > 0; bits-- {
		coarse := map[nodeClass]bool{}
		for c := range set {
			coarse[nodeClass{cpu: floorBits(c.cpu, bits), memory: floorBits(c.memory, bits), devices: c.devices}] = true
		}
		set = coarse
	}
	classes := make([]nodeClass, 0, len(set))
	for c := range set {
		classes = append(classes, c)
	}
	slices.SortFunc(classes, func(a, b nodeClass) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.memory, a.memory), cmp.Compare(b.devices, a.devices))
	})
	return classes[:min(len(classes), maxPriors)], largest
}

// floorBits keeps the highest bits of x and clears the rest.
func floorBits(x int64, keep int) int64 {
	if n := bits.Len64(uint64(x)) - keep; n > 0 {
		return x >> n << n
	}
	return x
}
