package preempt

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// maxLooked bounds the rows and tasks that one search looks at. It ends then with
// the best that it has seen.
const maxLooked = 200_000

// Claim is what ends so that a job has room, and where.
type Claim struct {
	Victims []*state.Job // by arrival, none twice
	Nodes   []string     // of the members, by index
}

// Found is the outcome of a search.
type Found struct {
	Claim  *Claim // nil where no tasks that may end would be enough
	Looked int    // rows and tasks
	// Again is when tasks may be taken that may not be now because they began, were
	// spared, or the job came, too short a time ago; 0 where it is not for that.
	Again poise.Time
}

// Find looks for the tasks that have to end for the least harm so that a job that
// fits, but not now, has room; where members is a gang, so that all of them have.
// The members of one gang are those that start together, by index. Bars keep them
// off rows as they keep the jobs, and so do ports that others have, whoever they
// are. It costs a look at every row that could hold a member and at every task on
// those rows, at most 200,000 of them. What a job has to be near does not end for it.
// Nodes that are reserved for others are left alone, but for those of jobs that the
// job goes before: of a lower priority in its tenant, or beyond the guarantee of
// theirs where it is within its own.
//
// Less harm is, in this order: nobody but extra members of gangs ends; the highest
// priority of a victim is lower; there are fewer victims, members of gangs counted
// one by one; less work is done again; the node's name is smaller. On one row the
// victims are taken in this order until there is room, and then those are spared
// that need not end, the costliest first.
func Find(s *state.State, settings *Settings, members []*state.Job, bars []sched.Bar, now poise.Time) Found {
	f := &finder{state: s, account: newAccount(s, settings, members, now), bars: bars, now: now}
	f.byJob, f.single = map[poise.JobID]*victim{}, len(members) == 1
	f.keep()
	topology := (*poise.Topology)(nil)
	if g := members[0].Gang; g != nil && len(members) > 1 {
		topology = g.Topology
	}
	var best *claim
	switch {
	case topology == nil:
		best = f.claim(members)
	case topology.Mode == poise.TopologyPack:
		for _, domain := range f.domains(topology.Key) {
			f.only = &poise.Label{Key: topology.Key, Value: domain}
			if c := f.claim(members); c != nil && (best == nil || c.cost.compare(&best.cost) < 0) {
				best = c
			}
		}
	} // members that are spread out do not displace: the room of one moves the others
	found := Found{Looked: f.looked, Again: f.account.again}
	if best != nil {
		found.Claim = best.plain()
	}
	return found
}

type finder struct {
	state   *state.State
	account *account
	bars    []sched.Bar
	kept    map[uint32]bool // rows that are reserved for others
	only    *poise.Label    // that a row must have; nil = any
	now     poise.Time
	looked  int
	single  bool
	byJob   map[poise.JobID]*victim // that were asked for, nil for those that are none
}

// keep finds the rows that are reserved for others.
func (f *finder) keep() {
	f.kept = map[uint32]bool{}
	view, head := f.state.View(), f.account.head
	for _, r := range view.Reservations() {
		j := f.state.Job(r.Job)
		if r.For(head) || !f.state.Claims(r) && f.account.before(j) {
			continue
		}
		for i := range r.Holds {
			if row, ok := r.Holds[i].Row(view); ok {
				f.kept[row] = true
			}
		}
	}
}

// claim is a Claim in the making.
type claim struct {
	cost    cost
	victims []*victim
	nodes   []string
}

func (c *claim) plain() *Claim {
	out := &Claim{Nodes: c.nodes}
	for _, v := range c.victims {
		out.Victims = append(out.Victims, v.jobs...)
	}
	slices.SortFunc(out.Victims, func(a, b *state.Job) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// claim finds room for the members one after the other, each with what the ones
// before left.
func (f *finder) claim(members []*state.Job) *claim {
	trial := state.NewTrial(f.state.View(), &state.Tentative{})
	c := &claim{cost: cost{priority: lowest}}
	defer func() {
		for _, v := range c.victims {
			f.account.take(v, -1)
		}
	}()
	c.nodes = make([]string, len(members))
	released := map[poise.JobID]bool{}
	for n, i := range sched.GangOrder(members) {
		m := members[i]
		r := f.row(trial.View(), m)
		if r == nil {
			return nil
		}
		for _, v := range r.victims {
			c.victims = f.with(c.victims, v)
			for _, j := range v.jobs {
				if !released[j.ID] {
					released[j.ID] = true
					trial.Release(j.Task())
				}
			}
		}
		if len(members) > 1 {
			if err := trial.Place(m, r.row, r.devices(trial.View(), m)); err != nil {
				return nil
			}
		}
		if c.cost.add(&r.cost); n == 0 {
			c.cost.rank = r.cost.rank
		}
		c.nodes[i] = f.state.View().Name(r.row)
	}
	if len(c.victims) == 0 {
		return nil // there is room: it is a policy that keeps them off
	}
	return c
}

// with adds a victim, and counts it. Those that end with it need not stand beside it.
func (f *finder) with(victims []*victim, v *victim) []*victim {
	victims = slices.DeleteFunc(victims, func(o *victim) bool {
		if v.covers(o) {
			f.account.take(o, -1)
		}
		return v.covers(o)
	})
	f.account.take(v, 1)
	return append(victims, v)
}

// domains gives the values of a label of the nodes, sorted.
func (f *finder) domains(key string) []string {
	seen := map[string]bool{}
	view := f.state.View()
	var all []string
	for row := range uint32(view.Rows()) {
		if !view.Present(row) {
			continue
		}
		if v, ok := labelOf(view, row, key); ok && !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

func labelOf(s *state.Snapshot, row uint32, key string) (string, bool) {
	for _, l := range s.Labels(row) {
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}

// row finds the row where room for a job costs least, nil where there is none.
func (f *finder) row(view *state.Snapshot, j *state.Job) *room {
	fit := sched.NewFit(j.Shape, view)
	var best *room
	for row := range uint32(view.Rows()) {
		if !view.Present(row) || f.looked >= maxLooked {
			continue
		}
		f.looked++
		reason := fit.Reason(view, row)
		switch code := reason.Code(); {
		case code.Lasting() || code == poise.NodeNotReady || code == poise.NodeDrained || f.barred(view, row) || view.Taken(row, j.Shape.Ports) != nil:
			continue
		case code == poise.Fits:
			if f.single { // a policy keeps it off
				continue
			}
			if r := (&room{row: row, cost: cost{priority: lowest, rank: view.Rank(row)}}); best == nil || r.cost.compare(&best.cost) < 0 {
				best = r
			}
			continue
		}
		if r := f.room(view, row, j); r != nil && (best == nil || r.cost.compare(&best.cost) < 0) {
			best = r
		}
	}
	return best
}

func (f *finder) barred(view *state.Snapshot, row uint32) bool {
	if f.only != nil {
		if v, ok := labelOf(view, row, f.only.Key); !ok || v != f.only.Value {
			return true
		}
	}
	return f.kept[row] || slices.ContainsFunc(f.bars, func(b sched.Bar) bool { return b.Refuses(row) != 0 })
}

// victim gives what would end with a task, nil where its job is not known.
func (f *finder) victim(t *state.Task) *victim {
	if v, ok := f.byJob[t.Job]; ok {
		return v
	}
	j := f.state.Job(t.Job)
	if j == nil || j.Task() != t {
		f.byJob[t.Job] = nil // placed on the trial
		return nil
	}
	v := victimOf(f.state, j, f.now)
	f.byJob[j.ID] = v
	for _, each := range v.jobs {
		if !each.Extra() { // one of these ends by itself, too
			f.byJob[each.ID] = v
		}
	}
	return v
}
