package advice

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Advice is what Advise says.
type Advice struct {
	Index   uint64 // of the last event that the state had seen
	Waiting int    // jobs that wait, all of those below together
	Fits    int    // there is room for them now
	Blocked int    // they come after others, are held, wait for a time, or for what is idle, as extra members of a gang do
	Over    int    // over quota: no node helps
	Lacking int    // the others
	Classes []Class
	// Together is which nodes to add so that every job starts that any class can
	// help: the class that starts the most jobs first, and so on with the rest. Jobs
	// without devices get nodes with some only where no others hold them.
	Together []Step
	Helpless []Helpless // shapes that no class helps, in the order of arrival
	Unneeded []Unneeded // by class
}

// Class is what more nodes of one class would do for the jobs that lack room.
type Class struct {
	Name    string
	Nodes   int        // present ones
	Node    poise.Node // the most frequent capacity and devices of these
	Starts  int        // jobs that start on so many more
	More    int        // nodes: first fit, the largest job first
	AtLeast int        // fewer nodes cannot hold these jobs
	Left    int        // jobs that even an empty node of the class does not hold
}

// Step is nodes of one class, and how many jobs start on them.
type Step struct {
	Class       string
	Nodes, Jobs int
}

// Helpless is waiting jobs of one shape that no class helps.
type Helpless struct {
	Job     poise.JobID // the first
	Name    string
	Tenant  poise.TenantID
	Jobs    int
	Request poise.Request
	Miss    *poise.Miss // of the present node that comes nearest; nil where one that is not like its class would do
}

// Unneeded is empty nodes of one class that no waiting job would go to.
type Unneeded struct {
	Class string
	Nodes []string // by name
}

// Input is what advice is made of, see Gather.
type Input struct {
	advice Advice
	snap   *state.Snapshot
	groups []*group // in the order of arrival
	gangs  []*gang  // the same
}

// group is waiting jobs of one shape and one tenant, that go by one label.
type group struct {
	job     state.Job // the first of them
	jobs    int
	turn    turn
	label   string // that their nodes have: of the topology of their gang; "" = any node
	lacking int    // jobs that there is no room for now
}

// turn is when jobs take room, the smaller first.
type turn int

const (
	now    turn = iota
	inGang      // with their gang, among those of now
	idle        // extra members, after all others that may start
	later       // blocked or over quota: they need room some day
)

type groupKey struct {
	shape  uint32
	tenant poise.TenantID
	turn   turn
	label  string
}

// Gather takes what Advise needs out of a state, so that the state may go on
// meanwhile.
func Gather(s *state.State) *Input {
	in := &Input{snap: s.Snapshot(), advice: Advice{Index: s.Index()}}
	at := map[groupKey]*group{}
	over := map[groupKey]bool{}
	gangs := gathering{of: map[*state.Gang]*gang{}}
	for _, j := range s.Waiting() {
		in.advice.Waiting++
		key := groupKey{shape: j.Shape.ID, tenant: j.Tenant, label: topologyLabel(j)}
		whole := gangs.whole(s, j, in.snap.At())
		isOver, known := over[key]
		if whole != nil {
			isOver = whole.over
		} else if !known {
			isOver = s.OverQuota(j) != nil
			over[key] = isOver
		}
		switch {
		case j.Blocked() || j.NotBefore > in.snap.At() || whole != nil && whole.blocked:
			in.advice.Blocked++
			key.turn = later
		case isOver:
			in.advice.Over++
			key.turn = later
		case j.Extra():
			key.turn = idle
		case whole != nil:
			key.turn = inGang
		}
		g := at[key]
		if g == nil {
			g = &group{job: *j, turn: key.turn, label: key.label}
			at[key] = g
			in.groups = append(in.groups, g)
		}
		if g.jobs++; key.turn == inGang {
			whole.core, whole.of = append(whole.core, new(state.Job)), append(whole.of, g)
			*whole.core[len(whole.core)-1] = *j
		}
	}
	in.gangs = gangs.order
	return in
}

// Advise makes the advice. Jobs take the room that there is in the order in which
// the first of their shape came; what is left is packed on empty nodes of one
// class by first fit, the largest first, which takes at most (d + 1/3) times the
// fewest possible nodes for d resources (Garey, Graham, Johnson and Yao, Resource
// Constrained Scheduling as Generalized Bin Packing, 1976). Of a gang that waits the
// members that start together take the room that there is, and nodes are for the
// others of them; where they are to be near each other, or spread, for all unless all
// fit. For extra members there are none.
func (in *Input) Advise() (*Advice, error) {
	a := in.advice
	needed, err := in.fill(&a)
	if err != nil {
		return nil, err
	}
	kinds := kindsOf(in.snap)
	lacking := in.lacking()
	helped := map[*group]bool{}
	for _, k := range kinds {
		able, err := k.able(lacking)
		if err != nil {
			return nil, err
		}
		for _, g := range able {
			helped[g] = true
		}
		p := k.pack(able)
		a.Classes = append(a.Classes, Class{
			Name: k.name, Nodes: k.nodes, Node: k.node, Starts: p.jobs, More: p.nodes, AtLeast: min(k.least(able), p.nodes), Left: a.Lacking - p.jobs,
		})
	}
	a.Together = together(kinds, lacking)
	for _, g := range lacking {
		if helped[g] {
			continue
		}
		h := Helpless{Job: g.job.ID, Name: g.job.Name, Tenant: g.job.Tenant, Jobs: g.lacking, Request: g.job.Shape.Request}
		if h.Miss, err = in.nearest(g); err != nil {
			return nil, err
		}
		a.Helpless = append(a.Helpless, h)
	}
	a.Unneeded = in.unneeded(kinds, needed)
	return &a, nil
}

// fill lets the jobs take the room that there is, and says which rows they took.
// Those that may not start yet go last and count as nothing but a need.
func (in *Input) fill(a *Advice) (needed map[uint32]bool, err error) {
	pipeline, err := native()
	if err != nil {
		return nil, err
	}
	trial := pipeline.Trial(in.snap)
	rows := map[string]uint32{}
	for row := range uint32(in.snap.Rows()) {
		if in.snap.Present(row) {
			rows[in.snap.Name(row)] = row
		}
	}
	f := &filling{pipeline: pipeline, trial: trial, rows: rows, needed: map[uint32]bool{}}
	gangs := in.gangs
	for _, turn := range []turn{now, idle, later} {
		for _, g := range in.groups {
			if g.turn != turn {
				continue
			}
			for turn == now && len(gangs) > 0 && gangs[0].core[0].Seq < g.job.Seq {
				if err := f.placeGang(gangs[0]); err != nil {
					return nil, err
				}
				gangs = gangs[1:]
			}
			placed := 0
			for ; placed < g.jobs; placed++ {
				if ok, err := f.place(&g.job); err != nil {
					return nil, err
				} else if !ok {
					break
				}
			}
			switch turn {
			case now:
				g.lacking = g.jobs - placed
			case idle:
				a.Fits += placed
				a.Blocked += g.jobs - placed
			}
		}
		for ; turn == now && len(gangs) > 0; gangs = gangs[1:] {
			if err := f.placeGang(gangs[0]); err != nil {
				return nil, err
			}
		}
	}
	for _, g := range in.groups {
		if g.turn == now || g.turn == inGang {
			a.Fits += g.jobs - g.lacking
			a.Lacking += g.lacking
		}
	}
	return f.needed, nil
}

func (in *Input) lacking() []*group {
	return slices.DeleteFunc(slices.Clone(in.groups), func(g *group) bool { return g.lacking == 0 })
}

// together adds the class that starts the most jobs, then the one that starts the
// most of the rest; of equal ones that with fewer nodes, then by name. Nodes with
// devices are for jobs without only where no other class holds these.
func together(kinds []*kind, lacking []*group) []Step {
	plain := map[*group]bool{} // held by a class without devices
	for _, k := range kinds {
		for g := range k.holds {
			plain[g] = plain[g] || k.node.Devices.Count == 0
		}
	}
	serves := func(k *kind, g *group) bool {
		return k.holds[g] && (k.node.Devices.Count == 0 || !plain[g])
	}
	var steps []Step
	for {
		var best packing
		var with *kind
		for _, k := range kinds {
			p := k.pack(slices.DeleteFunc(slices.Clone(lacking), func(g *group) bool { return !serves(k, g) }))
			if p.jobs > best.jobs || p.jobs == best.jobs && p.jobs > 0 && p.nodes < best.nodes {
				best, with = p, k
			}
		}
		if with == nil {
			return steps
		}
		steps = append(steps, Step{with.name, best.nodes, best.jobs})
		lacking = slices.DeleteFunc(slices.Clone(lacking), func(g *group) bool { return serves(with, g) })
	}
}

// unneeded gives the nodes that are in service, hold nothing, and took no job.
func (in *Input) unneeded(kinds []*kind, needed map[uint32]bool) []Unneeded {
	var all []Unneeded
	for _, k := range kinds {
		u := Unneeded{Class: k.name}
		for _, row := range k.rows {
			if in.snap.Running(row) == 0 && !needed[row] && !in.snap.Drained(row) && !in.snap.NotReady(row) {
				u.Nodes = append(u.Nodes, in.snap.Name(row))
			}
		}
		if len(u.Nodes) > 0 {
			slices.SortFunc(u.Nodes, cmp.Compare[string])
			all = append(all, u)
		}
	}
	return all
}
