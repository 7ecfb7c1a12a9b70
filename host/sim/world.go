package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Arrival is a job and when it is submitted.
type Arrival struct {
	Job poise.Job
	At  poise.Time
	// Took is how long the job in truth runs, where that differs from the run time
	// that it declares; 0 = as long as it declares. Only the run knows it: nothing
	// that decides may look at it.
	Took poise.Span
}

// Config is what a run is made of, beside nodes and arrivals.
type Config struct {
	Policy sched.Policy
	Params balance.Params
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

// World is a fleet and its jobs under one policy.
type World struct {
	config   *Config
	state    *state.State
	pipeline *sched.Pipeline
	fleet    resource.Vector
	profiled bool // the policy wants demand profiles
	index    uint64
	looked   int64
}

// NewWorld makes a world with these nodes, all joined at time 0.
func NewWorld(c *Config, nodes []poise.Node) (*World, error) {
	if len(nodes) == 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "simulate", Detail: "nodes: none, expected at least one"}
	}
	fleet, err := fleetTotals(nodes)
	if err != nil {
		return nil, err
	}
	s, err := state.New(state.Settings{DemandHalfLife: c.HalfLife})
	if err != nil {
		return nil, err
	}
	w := &World{config: c, state: s, fleet: fleet, pipeline: sched.NewPipeline(c.Policy)}
	w.profiled = c.Policy.WantsProfile
	if len(c.Symbols.Labels)+len(c.Symbols.Values) > 0 {
		if err := w.apply(0, c.Symbols); err != nil {
			return nil, err
		}
	}
	for i := range nodes {
		if err := w.apply(0, poise.NodeJoined{Node: nodes[i]}); err != nil {
			return nil, err
		}
	}
	if c.Model != nil {
		w.pipeline.UseIndex(model.NewClassIndex(c.Model))
		return w, w.apply(0, c.Model.Built(nodes))
	}
	return w, nil
}

func (w *World) apply(at poise.Time, body poise.Body) error {
	ev := poise.Event{Index: w.index + 1, At: at, Body: body}
	if err := w.state.Apply(ev); err != nil {
		return err
	}
	w.index++
	if w.config.Record != nil {
		w.config.Record(ev)
	}
	return nil
}

// submit makes the job known and begins a new profile epoch where one is due.
func (w *World) submit(a *Arrival) (*state.Job, error) {
	if err := w.apply(a.At, poise.JobSubmitted{Job: a.Job}); err != nil {
		return nil, err
	}
	if view := w.state.View(); w.profiled && balance.Due(view, &w.config.Params) {
		seen, kinds := w.config.Workload, w.config.Kinds
		if seen == nil {
			seen = w.state.Demand()
			kinds = seen
		}
		built := poise.ProfileBuilt{
			Profiles: balance.BuildProfiles(view, seen, &w.config.Params),
			Demand:   balance.BuildDemand(view, kinds),
		}
		if err := w.apply(a.At, built); err != nil {
			return nil, err
		}
	}
	return w.state.Job(a.Job.ID), nil
}

// try plans a waiting job and commits the decision if it found a node.
func (w *World) try(j *state.Job, at poise.Time) (poise.Decision, error) {
	detail := sched.Brief
	if w.config.Explain != nil && w.config.Explain(j) {
		detail = sched.Full
	}
	d, err := w.pipeline.Plan(w.state.View(), j, sched.Pass{Now: at, Detail: detail})
	if err != nil {
		return d, err
	}
	w.looked += int64(d.Looked)
	if w.config.Observe != nil {
		w.config.Observe(j, &d)
	}
	if d.Verdict != poise.Placed {
		return d, nil
	}
	err = w.apply(at, poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}})
	if err != nil {
		return d, fmt.Errorf("commit decision for job %q: %w", d.Job, err)
	}
	return d, nil
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
// input.
func inOrder(arrivals []Arrival) []Arrival {
	sorted := slices.Clone(arrivals)
	slices.SortFunc(sorted, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	return sorted
}

// sortedNodes gives the nodes ordered by name, so that a run does not depend
// on the order of its input.
func sortedNodes(nodes []poise.Node) []poise.Node {
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b poise.Node) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}
