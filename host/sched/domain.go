package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Domains are the domains of a topology on one snapshot, with the members of a gang
// in each, as a Bar: it refuses rows outside of the one domain, for the mode pack,
// or in a domain that has as many members as the skew permits. It holds a number per
// row.
type Domains struct {
	topology *poise.Topology
	names    []string // by domain, sorted
	of       []int32  // by row; -1 = the node lacks the label
	counts   []int32  // members, by domain
	open     []bool   // by domain: it takes part
	least    int32    // members in the domain that has fewest, of those that take part
}

var _ Bar = (*Domains)(nil)

// NewDomains reads the labels of the nodes. All domains take part.
func NewDomains(snap *state.Snapshot, t *poise.Topology) *Domains {
	d := &Domains{topology: t, of: make([]int32, snap.Rows())}
	value := func(row uint32) (string, bool) {
		for _, l := range snap.Labels(row) {
			if l.Key == t.Key {
				return l.Value, true
			}
		}
		return "", false
	}
	index := map[string]int32{}
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		if v, ok := value(row); ok {
			index[v] = 0
		}
	}
	for v := range index {
		d.names = append(d.names, v)
	}
	slices.Sort(d.names)
	for i, v := range d.names {
		index[v] = int32(i)
	}
	for row := range uint32(snap.Rows()) {
		d.of[row] = -1
		if !snap.Present(row) {
			continue
		}
		if v, ok := value(row); ok {
			d.of[row] = index[v]
		}
	}
	d.counts, d.open = make([]int32, len(d.names)), make([]bool, len(d.names))
	for i := range d.open {
		d.open[i] = true
	}
	return d
}

// Refuses implements Bar.
func (d *Domains) Refuses(row uint32) poise.Reason {
	domain := d.of[row]
	switch {
	case domain < 0:
		return poise.NewReason(poise.NoTopologyLabel, 0)
	case !d.open[domain]:
		return poise.NewReason(poise.OtherDomain, 0)
	case d.topology.Mode == poise.TopologySpread && d.counts[domain] >= d.least+d.topology.MaxSkew:
		return poise.NewReason(poise.SkewReached, 0)
	}
	return 0
}

// Name gives the domain of a row, "" for none.
func (d *Domains) Name(row uint32) string {
	if d.of[row] < 0 {
		return ""
	}
	return d.names[d.of[row]]
}

// Add counts a member on a row.
func (d *Domains) Add(row uint32) {
	if d.of[row] < 0 {
		return
	}
	d.counts[d.of[row]]++
	d.settle()
}

func (d *Domains) settle() {
	first := true
	for i, n := range d.counts {
		if d.open[i] && (first || n < d.least) {
			d.least, first = n, false
		}
	}
}

// only leaves one domain open; below 0 none.
func (d *Domains) only(domain int) {
	for i := range d.open {
		d.open[i] = i == domain
	}
}

// eligible leaves the domains open that have a node that is ready, not drained and
// large enough for one of the members.
func (d *Domains) eligible(snap *state.Snapshot, members []*state.Job) {
	clear(d.open)
	var f fit
	var last *state.Shape
	for _, j := range members {
		if j.Shape == last {
			continue
		}
		last = j.Shape
		f.resolve(j.Shape, snap)
		for row := range uint32(snap.Rows()) {
			if at := d.of[row]; at >= 0 && !d.open[at] && snap.Schedulable(row) && !f.reason(snap, row).Code().Lasting() {
				d.open[at] = true
			}
		}
	}
	d.settle()
}

// Placing gives the bar under which members of a gang that starts are placed one by
// one, Add after each: the domain is the one that a packed gang goes to. It is nil for
// a gang without a topology.
func Placing(snap *state.Snapshot, members []*state.Job, domain string) *Domains {
	t := members[0].Gang.Topology
	if t == nil {
		return nil
	}
	d := NewDomains(snap, t)
	if t.Mode == poise.TopologySpread {
		d.eligible(snap, members)
	} else {
		d.only(slices.Index(d.names, domain))
	}
	return d
}

// Beside gives the bar for one more member of a gang, beside members that run on
// rows: it is to be in their domain, or to keep the spread with them.
func Beside(snap *state.Snapshot, j *state.Job, running []uint32) *Domains {
	d := NewDomains(snap, j.Gang.Topology)
	if d.topology.Mode == poise.TopologySpread {
		d.eligible(snap, []*state.Job{j})
		for _, row := range running {
			d.Add(row)
		}
		return d
	}
	for _, row := range running {
		if d.of[row] >= 0 {
			d.only(int(d.of[row]))
			break
		}
	}
	return d
}

// packInto gives the domain in which all members fit with the smallest total loss,
// of equal ones the first by name; where there is none, the one in which most fit,
// and beside it why none of the others has room. What plugins used for it is added to
// use.
func (p *Pipeline) packInto(snap *state.Snapshot, members []*state.Job, order []int, pass *Pass, d *Domains, use *gangUse) (best int, more []poise.Reason, err error) {
	rows := make([][]uint32, len(d.names))
	for row := range uint32(snap.Rows()) {
		if at := d.of[row]; at >= 0 {
			rows[at] = append(rows[at], row)
		}
	}
	best, most, least := -1, -1, 0.0
	for at := range d.names {
		trial := p.Trial(snap)
		trial.Begin(pass.Now)
		fitted, loss := 0, 0.0
		for _, i := range order {
			r, row, ok, err := p.among(trial.View(), members[i], rows[at], MemberBars(pass.Bars, trial, members[i]))
			use.add(p.use())
			if err != nil {
				return best, nil, err
			}
			if !ok {
				more = r.reasons(rows[at], more)
				break
			}
			devices := p.devices(trial.View(), members[i], row, r.rows[row].mask)
			if err := trial.Place(members[i], row, devices); err != nil {
				return best, nil, err
			}
			loss += r.rows[row].loss
			fitted++
		}
		if fitted > most || fitted == most && fitted == len(members) && loss < least {
			best, most, least = at, fitted, loss
		}
	}
	return best, more, nil
}

// among gives the best of some rows for a job, and false where none is a candidate.
func (p *Pipeline) among(snap *state.Snapshot, job *state.Job, rows []uint32, bars []Bar) (r *ranking, best uint32, ok bool, err error) {
	r, _, err = p.catchUp(snap, job)
	if err != nil {
		return nil, 0, false, err
	}
	p.bar(r, bars)
	prefix := hashPrefix(p.policy.Seed, job.ID)
	before := func(a, b uint32) bool {
		if p.policy.Ties == Seeded && r.equal(a, b) {
			x, y := hashOf(prefix, snap.Name(a)), hashOf(prefix, snap.Name(b))
			if x != y {
				return x < y
			}
		}
		return p.order.less(a, b)
	}
	for _, row := range rows {
		if r.candidate(row) && !p.barred.has(row) && (!ok || before(row, best)) {
			best, ok = row, true
		}
	}
	if !ok {
		r.settle(snap)
	}
	return r, best, ok, nil
}

// reasons adds the distinct reasons of some rows to a list.
func (r *ranking) reasons(rows []uint32, list []poise.Reason) []poise.Reason {
	for _, row := range rows {
		if reason := r.rows[row].reason; reason != 0 && !slices.Contains(list, reason) {
			list = append(list, reason)
		}
	}
	slices.SortFunc(list, cmp.Compare[poise.Reason])
	return list
}
