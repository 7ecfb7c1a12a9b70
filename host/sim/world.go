package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Arrival is a job and when it is submitted.
type Arrival struct {
	Job   poise.Job
	At    poise.Time
	Needs loop.Needs // how it comes after those of Job.After
	Fate
}

// Fate is what becomes of a job. Only the run knows it: nothing that decides may look
// at it. The zero Fate runs for as long as it declares and succeeds.
type Fate struct {
	// Took is how long a task of it in truth runs, where that differs from the run
	// time that it declares; 0 = as long as it declares.
	Took poise.Span
	// ExitCode is what its tasks end with, above 0 where they fail. Fails is how many
	// do, the first ones, 0 = all.
	ExitCode, Fails int32
	// Release is how long after its submission a job that is held is released, 0 =
	// never.
	Release poise.Span
}

// fails says whether the task of a job fails that comes after so many that did.
func (f *Fate) fails(failures int32) bool {
	return f.ExitCode != 0 && (f.Fails == 0 || failures < f.Fails)
}

// Config is what a run is made of, beside nodes and arrivals.
type Config struct {
	Policy  sched.Policy
	Tenants []poise.Tenant // in any order; jobs may name others too
	Params  balance.Params
	// Reservations, Patience and Preempt are those of loop.Settings; the published
	// experiment, which tries each job once, knows none of them.
	Reservations  int
	Patience      poise.Span
	Preempt       *preempt.Settings
	UsageHalfLife poise.Span // of what tenants held in their fair shares, 0 = the past counts nothing
	// HalfLife of the demand counts in arrivals; 0 keeps all.
	HalfLife float64
	// Workload holds the demand counts to build profiles from instead of those
	// of the arrivals so far; nil for the online profile.
	Workload []state.Seen
	// Kinds, beside Workload, are the counts that policy plugins see.
	Kinds []state.Seen
	// Symbols are what the policy's plugins want numbers for.
	Symbols poise.SymbolsWanted
	// Model gives the nodes their class labels and leaves out, in decisions, what
	// its classes show to be hopeless; nil for neither.
	Model *model.Model
	// Explain says which jobs' decisions to make in full; nil for none.
	Explain func(*state.Job) bool
	// Observe is called with every attempt's job and decision; may be nil.
	Observe func(*state.Job, *poise.Decision)
	// Record is called with every event applied; may be nil.
	Record func(poise.Event)
}

// World is a fleet and its jobs under one policy, driven by the deciding loop with
// its one lane inline.
type World struct {
	config *Config
	loop   *loop.Loop
	fleet  resource.Vector
	looked int64
	events func(poise.Event) // told of every event applied; may be nil
}

// NewWorld makes a world with these tenants and nodes, all there at time 0.
func NewWorld(c *Config, q queue.Settings, nodes []poise.Node) (*World, error) {
	if len(nodes) == 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "simulate", Detail: "nodes: none, expected at least one"}
	}
	fleet, err := fleetTotals(nodes)
	if err != nil {
		return nil, err
	}
	s, err := state.New(state.Settings{DemandHalfLife: c.HalfLife, UsageHalfLife: c.UsageHalfLife})
	if err != nil {
		return nil, err
	}
	w, err := worldOn(c, q, s, fleet)
	if err != nil {
		return nil, err
	}
	if len(c.Symbols.Labels)+len(c.Symbols.Values) > 0 {
		if err := w.apply(0, c.Symbols); err != nil {
			return nil, err
		}
	}
	for _, t := range parentsFirst(c.Tenants) {
		if err := w.apply(0, poise.TenantSet{Tenant: t}); err != nil {
			return nil, err
		}
	}
	for i := range nodes {
		if err := w.apply(0, poise.NodeJoined{Node: nodes[i]}); err != nil {
			return nil, err
		}
	}
	if c.Model != nil {
		w.loop.UseModel(c.Model)
		return w, w.apply(0, c.Model.Built(nodes))
	}
	return w, nil
}

// worldOn makes a world of a state.
func worldOn(c *Config, q queue.Settings, s *state.State, fleet resource.Vector) (*World, error) {
	l, err := loop.New(s, loop.Settings{
		Queue: q, Params: c.Params, Seen: c.Workload, Kinds: c.Kinds,
		LaneOf:       func(poise.TenantID) string { return "" },
		Reservations: c.Reservations, Patience: c.Patience, Preempt: c.Preempt,
	})
	if err != nil {
		return nil, err
	}
	l.Open("", c.Policy, false)
	return &World{config: c, loop: l, fleet: fleet}, nil
}

func (w *World) state() *state.State { return w.loop.State() }

func (w *World) apply(at poise.Time, body poise.Body) error {
	ev := poise.Event{Index: w.state().Index() + 1, At: at, Body: body}
	if err := w.loop.Apply(ev); err != nil {
		return err
	}
	if w.config.Record != nil {
		w.config.Record(ev)
	}
	if w.events != nil {
		w.events(ev)
	}
	return nil
}

// due applies what the loop makes of itself by now.
func (w *World) due(now poise.Time) error {
	for _, body := range w.loop.Due(now) {
		if err := w.apply(now, body); err != nil {
			return err
		}
	}
	return nil
}

// submit makes the job known, with the demand profile that it makes due. What it
// comes after and has ended is left out.
func (w *World) submit(a *Arrival) (*state.Job, error) {
	j := a.Job
	j.After = slices.DeleteFunc(slices.Clone(j.After), func(id poise.JobID) bool { return w.state().Job(id) == nil })
	if err := w.apply(a.At, poise.JobSubmitted{Job: j}); err != nil {
		return nil, err
	}
	if err := w.due(a.At); err != nil {
		return nil, err
	}
	return w.state().Job(j.ID), nil
}

// attempt plans the job whose turn it is, and commits the decision if it found a
// node. It gives nil where no job may be tried now.
func (w *World) attempt(now poise.Time) (*loop.Settled, error) {
	if err := w.due(now); err != nil {
		return nil, err
	}
	work := w.loop.Next(now)
	if work == nil {
		return nil, nil
	}
	detail := sched.Brief
	if w.config.Explain != nil && w.config.Explain(&work.Job) {
		detail = sched.Full
	}
	work.Plan(detail)
	s, err := w.loop.Settle(work, now, detail)
	if err != nil {
		return nil, err
	}
	w.looked += int64(s.Decision.Looked)
	if w.config.Observe != nil {
		w.config.Observe(&work.Job, &s.Decision)
	}
	bodies := s.Events
	if body := s.Commit(); body != nil {
		bodies = append(bodies, body)
	}
	for _, body := range bodies {
		if err := w.apply(now, body); err != nil {
			return nil, fmt.Errorf("commit decision for job %q: %w", s.Decision.Job, err)
		}
	}
	return &s, nil
}

// parentsFirst orders tenants so that each comes after its parent, as far as the
// parents are among them, and else by id.
func parentsFirst(tenants []poise.Tenant) []poise.Tenant {
	rest := slices.SortedFunc(slices.Values(tenants), func(a, b poise.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	sorted := make([]poise.Tenant, 0, len(rest))
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(t poise.Tenant) bool {
			return !slices.ContainsFunc(rest, func(other poise.Tenant) bool { return other.ID == t.Parent })
		})
		i = max(i, 0) // a circle: the state refuses it
		sorted = append(sorted, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return sorted
}

// WorkloadDemand counts the requests of a whole workload, in the order in which
// they arrive, for a profile that knows it beforehand.
func WorkloadDemand(arrivals []Arrival) ([]state.Seen, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	for i, a := range inOrder(arrivals) {
		if err := s.Apply(poise.Event{Index: uint64(i + 1), Body: poise.JobSubmitted{Job: a.Job}}); err != nil {
			return nil, err
		}
	}
	return s.Demand(), nil
}

// inOrder gives the arrivals by time, then by id, whatever the order of the
// input. What comes after another job of the same moment stands behind it.
func inOrder(arrivals []Arrival) []Arrival {
	sorted := slices.Clone(arrivals)
	slices.SortFunc(sorted, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	if !slices.ContainsFunc(sorted, func(a Arrival) bool { return len(a.Job.After) > 0 }) {
		return sorted
	}
	at := make(map[poise.JobID]int, len(sorted))
	for i := range sorted {
		at[sorted[i].Job.ID] = i
	}
	ordered := make([]Arrival, 0, len(sorted))
	taken := make([]bool, len(sorted))
	var take func(i int)
	take = func(i int) {
		if taken[i] {
			return
		}
		taken[i] = true
		for _, id := range sorted[i].Job.After {
			if k, ok := at[id]; ok && sorted[k].At == sorted[i].At {
				take(k)
			}
		}
		ordered = append(ordered, sorted[i])
	}
	for i := range sorted {
		take(i)
	}
	return ordered
}

// sortedNodes gives the nodes ordered by name, so that a run does not depend
// on the order of its input.
func sortedNodes(nodes []poise.Node) []poise.Node {
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b poise.Node) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}
