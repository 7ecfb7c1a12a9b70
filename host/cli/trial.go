package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/state"
)

// scene is a fleet at one moment and a job to decide on.
type scene struct {
	nodes    []poise.Node
	running  []manifest.Running
	workload []manifest.Job // what the demand profile counts; nil = running and job
	job      manifest.Job
	beside   []manifest.Job // where job is the first member of a gang, the others
	classes  bool           // group the nodes into classes, as the daemon does

	snapshot *snapshot.File // in place of all but job and beside
}

// submitted gives what puts the job, or the gang, among those that wait.
func (sc *scene) submitted() []poise.Body {
	bodies := []poise.Body{poise.JobSubmitted{Job: sc.job.Job}}
	for i := range sc.beside {
		bodies = append(bodies, poise.JobSubmitted{Job: sc.beside[i].Job})
	}
	return bodies
}

// trial is one decision of a plugin on a scene.
type trial struct {
	job      state.Job
	decision poise.Decision
	members  []poise.Decision // of a gang that starts, by index; nil for a single job
	fault    abi.Code         // "" = none
	strange  []string         // given symbol parameters with a text that a plugin meets nowhere
	failure  sched.Failure
}

// try lets a plugin decide on the scene. A plugin that cannot be set up gives
// its Fault as the error; one that fails at the decision is a trial too.
func (sc *scene) try(m *policy.Module, params map[string]string, weight float64, detail sched.Detail) (*trial, error) {
	if sc.snapshot != nil {
		e, fleet, leave, err := sc.enterSnapshot(m, params, weight)
		if err != nil {
			return nil, err
		}
		defer leave()
		defer e.close()
		p, err := pipelineOn(e.policy, fleet)
		if err != nil {
			return nil, err
		}
		return sc.decide(m, params, e, fleet, p, detail)
	}
	defaults, err := parseParams(nil)
	if err != nil {
		return nil, err
	}
	e, err := enterPlugin(m, &defaults, params, weight)
	if err != nil {
		return nil, err
	}
	defer e.close()
	p := sched.NewPipeline(e.policy)
	fleet, err := sc.build(e.symbols, &defaults.params, p)
	if err != nil {
		return nil, err
	}
	return sc.decide(m, params, e, fleet, p, detail)
}

// decide lets a plugin that is set up decide on the job.
func (sc *scene) decide(m *policy.Module, params map[string]string, e *entry, fleet *state.State, p *sched.Pipeline, detail sched.Detail) (t *trial, err error) {
	t = &trial{job: *fleet.Job(sc.job.ID), failure: e.policy.OnFailure}
	pass := sched.Pass{Now: fleet.View().At(), Detail: detail}
	if len(sc.beside) > 0 {
		var plan sched.GangPlan
		plan, err = p.PlanGang(fleet.View(), fleet.GangOf(fleet.Job(sc.job.ID)).Core(), pass)
		t.decision, t.members = plan.Decision, plan.Members
	} else {
		t.decision, err = p.Plan(fleet.View(), &t.job, pass)
	}
	if err != nil {
		return nil, err
	}
	t.strange = strange(m.Manifest.Params, params, fleet.View(), t.job.Tenant)
	for code, times := range e.guest.Counters().Read().Faults {
		if times > 0 {
			t.fault = code
		}
	}
	return t, nil
}

// build makes the state of the scene, the job waiting.
func (sc *scene) build(symbols poise.SymbolsWanted, params *balance.Params, p *sched.Pipeline) (*state.State, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	apply := func(body poise.Body) {
		if err == nil {
			err = s.Apply(poise.Event{Index: s.Index() + 1, Body: body})
		}
	}
	apply(symbols)
	for i := range sc.nodes {
		apply(poise.NodeJoined{Node: sc.nodes[i]})
	}
	if sc.classes && err == nil {
		classes, err := model.Build(sc.nodes, model.Defaults(), nil)
		if err != nil {
			return nil, err
		}
		apply(classes.Built(sc.nodes))
		p.UseIndex(model.NewClassIndex(classes))
	}
	for i := range sc.running {
		if err == nil {
			err = place(s, &sc.running[i])
		}
	}
	for _, body := range sc.submitted() {
		apply(body)
	}
	if err != nil {
		return nil, err
	}
	profile, err := sc.profile(s, params)
	if err != nil {
		return nil, err
	}
	apply(profile)
	return s, err
}

// strange names the symbol parameters that are given a text which plugins meet
// nowhere in the snapshot: one that is compared with it is always another.
func strange(declared []abi.Param, given map[string]string, snap *state.Snapshot, tenant poise.TenantID) []string {
	met := map[string]bool{"": true, string(tenant): true}
	for row := range uint32(snap.Rows()) {
		for _, l := range snap.Labels(row) {
			met[l.Value] = true
		}
		for l := snap.Tasks(row); l != nil; l = l.Next {
			met[string(l.Task.Tenant)] = true
		}
	}
	for _, text := range slices.Concat(snap.Kinds(), snap.Models()) {
		met[text] = true
	}
	var names []string
	for i := range declared {
		if p := &declared[i]; p.Type == abi.ParamSymbol && !met[given[p.Name]] {
			names = append(names, p.Name)
		}
	}
	return names
}

// profile counts what jobs have been asking for.
func (sc *scene) profile(s *state.State, params *balance.Params) (poise.ProfileBuilt, error) {
	seen := s.Demand()
	kinds := seen
	if sc.workload != nil {
		arrivals := make([]sim.Arrival, len(sc.workload))
		requests := make([]poise.Request, len(sc.workload))
		for i := range sc.workload {
			arrivals[i], requests[i] = sim.Arrival{Job: sc.workload[i].Job}, sc.workload[i].Request
			if text := sc.workload[i].ModelText; text != "" {
				requests[i].Device.Models = strings.Split(text, "|") // as the file names them, as in sim
			}
		}
		var err error
		if seen, err = sim.WorkloadDemand(arrivals); err != nil {
			return poise.ProfileBuilt{}, err
		}
		kinds = state.Count(requests)
	}
	view := s.View()
	return poise.ProfileBuilt{Profiles: balance.BuildProfiles(view, seen, params), Demand: balance.BuildDemand(view, kinds)}, nil
}

// place puts a job that runs on its node.
func place(s *state.State, r *manifest.Running) error {
	wrong := func(detail string) error {
		return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("running job %q", r.Name), Detail: detail}
	}
	var refused *poise.Error
	err := s.Apply(poise.Event{Index: s.Index() + 1, Body: poise.JobSubmitted{Job: r.Job.Job}})
	if errors.As(err, &refused) {
		return wrong(refused.Detail)
	}
	row, ok := s.Row(r.Node)
	if !ok {
		return wrong(fmt.Sprintf("node: %q, expected a node of the fleet", r.Node))
	}
	held := r.Held
	if held == nil {
		held = hostsChoice(s.View().Free(row), &r.Request.Device)
	}
	placed := poise.JobPlaced{Placement: poise.Placement{Job: r.ID, Node: r.Node, Devices: held}}
	err = s.Apply(poise.Event{Index: s.Index() + 1, Body: placed})
	if errors.As(err, &refused) {
		return wrong(fmt.Sprintf("on node %q: %s, expected what fits beside the others", r.Node, refused.Detail))
	}
	return err
}

// hostsChoice gives the devices that the host takes where nobody chooses: the
// lowest free ones, for a share the one with the least free that is enough. It
// gives fewer than asked for where there are not as many.
func hostsChoice(free []uint16, ask *poise.DeviceRequest) []uint16 {
	var chosen []uint16
	for i, f := range free {
		switch {
		case int32(f) < ask.Milli || ask.Count == 0:
		case ask.Shared() && len(chosen) == 1:
			if f < free[chosen[0]] {
				chosen[0] = uint16(i)
			}
		case len(chosen) < int(ask.Count):
			chosen = append(chosen, uint16(i))
		}
	}
	return chosen
}
