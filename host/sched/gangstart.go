package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

const (
	// eachTime is how many times of those at which a gang might fit are tried one by
	// one. Beyond, the steps double.
	eachTime = 8
	// sometime is before a task that never ends does, and after all others have.
	sometime = never - 1
)

// GangStart is where and when the members of a gang could start together.
type GangStart struct {
	Rows   []uint32   // by member
	At     poise.Time // 0 = not known
	Now    bool       // nothing that the native filters see, nor a claim, is in the way
	Looked int        // rows, tasks and members that were looked at
}

// EarliestGang gives a start of a gang, of those members that start together, beside
// what reservations claim, at least 1 ms after now, and false where the nodes cannot
// hold them whatever ends. Avoid takes out rows for one member. Like a Horizon it goes
// by the native filters and the declared run times.
//
// It walks the times at which tasks and claims end. One at which every request has as
// many places as members is tried: the members are placed in their usual order, with
// their topology, where what they wait for ends last, so that what is idle before is
// left for others. The first eachTime such times are tried one by one, then in steps
// that double, and where one fits the times before it that were passed over are
// searched by halves. So what is found fits. It is the earliest time where members of
// one request have no topology or are packed, and no claim is in the way; else it
// may be a later one. It costs a look at every row and a sort of the tasks on them, and
// for each time tried what placing the gang does; these are eachTime + 2 log2(tasks) at most.
//
// Where no time is known, members go where they fit now, then where tasks end by
// themselves, then where least is missing, and the rows are kept from now on. Where not
// all find a place so, they are placed as on nodes that are empty. What claims leave to
// nobody for ever is shared with them then.
func EarliestGang(snap *state.Snapshot, members []*state.Job, now poise.Time, claims []*state.Reservation, avoid func(row uint32, j *state.Job) bool) (GangStart, bool) {
	g := newGathering(snap, members, now, claims, avoid)
	start, ok := g.earliest()
	if !ok {
		start, ok = g.unknown()
	}
	start.Looked = g.looked
	return start, ok
}

// gathering is the question where and when a gang could start.
type gathering struct {
	snap    *state.Snapshot
	members []*state.Job
	order   []int
	now     poise.Time
	claims  []*state.Reservation
	claimed map[uint32]bool
	avoid   func(row uint32, j *state.Job) bool

	asks    []request  // the distinct requests, in the order in which they are placed
	domains *Domains   // as no member is placed; nil without a topology
	areas   [][]uint32 // the rows, by domain; one without a topology
	area    []int32    // by row; -1 = it is in no question
	ends    []ending   // of the tasks on these that end by themselves, by time
	endless []*state.Task

	line   timeline
	looked int
}

// request is what some members ask for.
type request struct {
	fit  fit
	jobs int32
	any  *state.Job // one of them
}

func newGathering(snap *state.Snapshot, members []*state.Job, now poise.Time, claims []*state.Reservation, avoid func(row uint32, j *state.Job) bool) *gathering {
	g := &gathering{snap: snap, members: members, order: gangOrder(members), now: now, claims: claims, claimed: map[uint32]bool{}, avoid: avoid}
	for _, row := range claimedRows(snap, claims) {
		g.claimed[row] = true
	}
	for _, i := range g.order {
		j := members[i]
		at := slices.IndexFunc(g.asks, func(a request) bool { return a.any.Shape == j.Shape })
		if at < 0 {
			at = len(g.asks)
			g.asks = append(g.asks, request{any: j})
			g.asks[at].fit.resolve(j.Shape, snap)
		}
		g.asks[at].jobs++
	}
	g.areas = make([][]uint32, 1)
	if t := members[0].Gang.Topology; t != nil {
		g.domains = NewDomains(snap, t)
		if t.Mode == poise.TopologySpread {
			g.domains.eligible(snap, members)
		}
		g.areas = make([][]uint32, len(g.domains.names))
	}
	g.area = make([]int32, snap.Rows())
	for row := range uint32(snap.Rows()) {
		g.area[row] = g.areaOf(row)
		if g.area[row] < 0 {
			continue
		}
		g.areas[g.area[row]] = append(g.areas[g.area[row]], row)
		for l := snap.Tasks(row); l != nil; l = l.Next {
			if at := endOf(l.Task, now); at < never {
				g.ends = append(g.ends, ending{at, l.Task})
			} else {
				g.endless = append(g.endless, l.Task)
			}
			g.looked++
		}
	}
	g.looked += snap.Rows()
	slices.SortStableFunc(g.ends, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	return g
}

// areaOf gives the area of a row, -1 for one that no member can take whatever ends
// there.
func (g *gathering) areaOf(row uint32) int32 {
	if !g.snap.Schedulable(row) {
		return -1
	}
	area := int32(0)
	if g.domains != nil {
		if area = g.domains.of[row]; area < 0 || !g.domains.open[area] {
			return -1
		}
	}
	for i := range g.asks {
		a := &g.asks[i]
		if !a.fit.reason(g.snap, row).Code().Lasting() && !g.avoid(row, a.any) {
			return area
		}
	}
	return -1
}

// earliest is EarliestGang where a time is known.
func (g *gathering) earliest() (GangStart, bool) {
	times := g.times()
	trial := state.NewTrial(g.snap, &state.Tentative{})
	slots := g.newSlots()
	for _, rows := range g.areas {
		for _, row := range rows {
			slots.count(trial.View(), row)
		}
	}
	var passed []poise.Time // since the last one that was tried
	ended, tried, step := 0, 0, 1
	for n, at := range times {
		for ; ended < len(g.ends) && g.ends[ended].at <= at; ended++ {
			task := g.ends[ended].task
			trial.Release(task)
			if row, ok := task.Row(g.snap); ok {
				slots.count(trial.View(), row)
			}
		}
		if !slots.enough() {
			continue
		}
		passed = append(passed, at)
		if len(passed) < step && n < len(times)-1 {
			continue
		}
		if start, ok := g.at(at, slots); ok {
			return g.sooner(passed[:len(passed)-1], start, slots), true
		}
		passed = passed[:0]
		if tried++; tried >= eachTime {
			step *= 2
		}
	}
	return GangStart{}, false
}

// sooner searches times before a start by halves.
func (g *gathering) sooner(times []poise.Time, start GangStart, slots *slots) GangStart {
	for len(times) > 0 {
		half := len(times) / 2
		if s, ok := g.at(times[half], slots); ok {
			start, times = s, times[:half]
		} else {
			times = times[half+1:]
		}
	}
	return start
}

// times are those at which what the gang may take becomes more, ascending.
func (g *gathering) times() []poise.Time {
	times := []poise.Time{g.now}
	for _, e := range g.ends {
		if e.at > times[len(times)-1] {
			times = append(times, e.at)
		}
	}
	ends := len(times)
	for _, r := range g.claims {
		if _, to := spanOf(r, g.now); to < never {
			times = append(times, to)
		}
	}
	if len(times) > ends {
		slices.Sort(times)
	}
	return slices.Compact(times)
}

// at gives a start at a time, false where the gang does not fit then.
func (g *gathering) at(at poise.Time, slots *slots) (GangStart, bool) {
	areas, packed := [][][]uint32{g.areas}, g.packed()
	if packed {
		areas = nil
		for i := range g.areas {
			if slots.enoughIn(i) {
				areas = append(areas, g.areas[i:i+1])
			}
		}
	}
	for _, rows := range areas {
		p := g.placing(at)
		last := map[uint32]poise.Time{} // when what a row waits for ends
		for _, e := range g.ends {
			if e.at > at {
				break
			}
			if row, ok := e.task.Row(g.snap); ok && (!packed || g.area[row] == g.area[rows[0][0]]) {
				p.trial.Release(e.task)
				last[row] = e.at
			}
		}
		g.looked += len(g.members) + len(last)
		if len(p.put(ordered(g.snap, rows, func(a, b uint32) int { return cmp.Compare(last[b], last[a]) }), p.g.order)) == 0 {
			return GangStart{Rows: p.rows, At: max(at, g.now+1), Now: at == g.now}, true
		}
	}
	return GangStart{}, false
}

func (g *gathering) packed() bool {
	return g.domains != nil && g.domains.topology.Mode == poise.TopologyPack
}

// ordered gives rows in another order, equal ones by name.
func ordered(snap *state.Snapshot, areas [][]uint32, compare func(a, b uint32) int) [][]uint32 {
	out := make([][]uint32, len(areas))
	for i := range areas {
		out[i] = slices.Clone(areas[i])
		slices.SortFunc(out[i], func(a, b uint32) int { return cmp.Or(compare(a, b), cmp.Compare(snap.Rank(a), snap.Rank(b))) })
	}
	return out
}

// unknown is EarliestGang where no time is known. Of domains to pack into it takes the
// one in which most members find a place before tasks have to end that never do so by
// themselves, or else the first one in which all do once it is empty.
func (g *gathering) unknown() (GangStart, bool) {
	areas := [][][]uint32{g.areas}
	if g.packed() {
		areas = nil
		for i := range g.areas {
			if len(g.areas[i]) > 0 {
				areas = append(areas, g.areas[i:i+1])
			}
		}
	}
	for {
		best, fewest := []uint32(nil), 0
		for _, rows := range areas {
			if placed, left, ok := g.someday(rows); ok && (best == nil || left < fewest) {
				best, fewest = placed, left
			}
		}
		for i := 0; best == nil && i < len(areas); i++ {
			best = g.emptied(areas[i])
		}
		if best != nil || len(g.claims) == 0 {
			return GangStart{Rows: best}, best != nil
		}
		g.claims, g.claimed = nil, nil
	}
}

// someday places the gang on some rows whenever it may be, and says how many wait for
// tasks that never end by themselves.
func (g *gathering) someday(rows [][]uint32) (placed []uint32, left int, ok bool) {
	p := g.placing(sometime)
	within := func(t *state.Task) bool {
		row, there := t.Row(g.snap)
		return there && (!g.packed() || g.area[row] == g.area[rows[0][0]])
	}
	order := p.put(rows, g.order)
	last := map[uint32]poise.Time{}
	for _, e := range g.ends {
		if within(e.task) {
			p.trial.Release(e.task)
			row, _ := e.task.Row(g.snap)
			last[row] = e.at
		}
	}
	order = p.put(ordered(g.snap, rows, func(a, b uint32) int { return cmp.Compare(last[a], last[b]) }), order)
	left = len(order)
	if left > 0 {
		misses := map[uint32]float64{}
		for _, t := range g.endless {
			if !within(t) {
				continue
			}
			row, _ := t.Row(g.snap)
			if _, known := misses[row]; !known {
				misses[row] = g.asks[0].fit.misses(g.snap, row)
			}
		}
		for _, t := range g.endless {
			if within(t) {
				p.trial.Release(t)
			}
		}
		order = p.put(ordered(g.snap, rows, func(a, b uint32) int { return cmp.Compare(misses[a], misses[b]) }), order)
	}
	g.looked += 3 * len(g.members)
	return p.rows, left, len(order) == 0
}
