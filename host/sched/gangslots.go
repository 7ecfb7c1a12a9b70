package sched

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// slots counts, per request of a gang, how many members the rows of each area could
// take, each request for itself and beside no claim: where there are too few, the gang
// does not fit.
type slots struct {
	g    *gathering
	rows [][]int32 // by request, by row
	sums [][]int64 // by request, by area
}

func (g *gathering) newSlots() *slots {
	p := &slots{g: g, rows: make([][]int32, len(g.asks)), sums: make([][]int64, len(g.asks))}
	for i := range g.asks {
		p.rows[i], p.sums[i] = make([]int32, g.snap.Rows()), make([]int64, len(g.areas))
	}
	return p
}

// count takes down what a row could take now.
func (p *slots) count(view *state.Snapshot, row uint32) {
	area := p.g.area[row]
	if area < 0 {
		return
	}
	for i := range p.g.asks {
		a := &p.g.asks[i]
		n := min(p.g.places(view, row, a), a.jobs)
		p.sums[i][area] += int64(n - p.rows[i][row])
		p.rows[i][row] = n
	}
}

// enough says whether there may be a place for every member.
func (p *slots) enough() bool {
	if p.g.packed() {
		return slices.ContainsFunc(p.g.areas, func(rows []uint32) bool { return len(rows) > 0 && p.enoughIn(int(p.g.area[rows[0]])) })
	}
	for i := range p.g.asks {
		sum := int64(0)
		for _, n := range p.sums[i] {
			sum += n
		}
		if sum < int64(p.g.asks[i].jobs) {
			return false
		}
	}
	return true
}

// enoughIn is enough for one area.
func (p *slots) enoughIn(area int) bool {
	for i := range p.g.asks {
		if p.sums[i][area] < int64(p.g.asks[i].jobs) {
			return false
		}
	}
	return true
}

// most is how many jobs of the shape a row has room for at most, beside each other.
func (f *fit) most(snap *state.Snapshot, row uint32) int32 {
	if f.reason(snap, row) != 0 {
		return 0
	}
	most := int64(math.MaxInt32)
	for i := range f.Dims {
		most = min(most, snap.Idle(row, f.Dims[i].Dim)/f.Dims[i].Amount)
	}
	if ask := &f.shape.Request.Device; ask.Count > 0 {
		shares := int64(0)
		for _, free := range snap.Free(row) {
			shares += int64(int32(free) / ask.Milli)
		}
		most = min(most, shares/int64(ask.Count))
	}
	return int32(most)
}

// placing is a gang that is placed from a time on.
type placing struct {
	g       *gathering
	at      poise.Time
	trial   *state.Trial
	domains *Domains // with the members that are placed; nil unless they are spread
	rows    []uint32 // by member
}

func (g *gathering) placing(at poise.Time) *placing {
	p := &placing{g: g, at: at, trial: state.NewTrial(g.snap, &state.Tentative{}), rows: make([]uint32, len(g.members))}
	p.trial.Begin(at)
	if g.domains != nil && !g.packed() {
		p.domains = g.domains.fresh()
	}
	return p
}

// fresh gives the same domains without members.
func (d *Domains) fresh() *Domains {
	again := *d
	again.counts, again.least = make([]int32, len(d.counts)), 0
	return &again
}

// put places members, in this order, each on the first row where it fits, of the area
// that has fewest, and gives those that fit nowhere.
func (p *placing) put(areas [][]uint32, order []int) (left []int) {
	var shape *state.Shape
	var f *fit
	from := make([]int, len(areas)) // those before have no room for the shape
	for _, i := range order {
		j := p.g.members[i]
		if j.Shape != shape {
			shape = j.Shape
			f = &p.g.asks[slices.IndexFunc(p.g.asks, func(a request) bool { return a.fit.shape == shape })].fit
			clear(from)
		}
		if !p.one(i, f, areas, from) {
			left = append(left, i)
		}
	}
	return left
}

// one places one member.
func (p *placing) one(i int, f *fit, areas [][]uint32, from []int) bool {
	for {
		best := -1
		for a, rows := range areas {
			if from[a] < len(rows) && (best < 0 || p.members(rows) < p.members(areas[best])) {
				best = a
			}
		}
		if best < 0 || p.domains != nil && p.domains.Refuses(areas[best][0]) != 0 {
			return false // all others have as many members or more
		}
		for rows := areas[best]; from[best] < len(rows); from[best]++ {
			row := rows[from[best]]
			if p.fits(f, p.g.members[i], row) && p.trial.Place(p.g.members[i], row, p.devices(f, row)) == nil {
				p.rows[i] = row
				if p.domains != nil {
					p.domains.Add(row)
				}
				return true
			}
		}
	}
}

// members counts those in the area of some rows.
func (p *placing) members(rows []uint32) int32 {
	if p.domains == nil {
		return 0
	}
	return p.domains.counts[p.domains.of[rows[0]]]
}

func (p *placing) devices(f *fit, row uint32) []uint16 {
	ask := &f.shape.Request.Device
	if ask.Count == 0 {
		return nil
	}
	return hostDevices(p.trial.View().Free(row), ask)
}

// fits says whether a member fits on a row from then on, and nothing keeps it off.
func (p *placing) fits(f *fit, j *state.Job, row uint32) bool {
	return !p.g.avoid(row, j) && p.beside(f, j, row)
}

// beside says whether a member fits on a row from then on, beside what is claimed there.
func (p *placing) beside(f *fit, j *state.Job, row uint32) bool {
	view := p.trial.View()
	switch {
	case f.reason(view, row) != 0:
		return false
	case !p.g.claimed[row]:
		return true
	}
	p.g.line.reset(f, view, row, p.g.now, p.g.claims)
	return p.g.line.fits(p.at, j.RunTime)
}
