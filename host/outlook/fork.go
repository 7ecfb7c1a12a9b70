package outlook

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sim"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// Fork is a loop on a copy of a state, with the policies of its tenants.
type Fork struct {
	loop     *loop.Loop
	settings loop.Settings
	stacks   map[string]*stack.Stack
	now      poise.Time
	known    map[poise.JobID]name
	own      []poise.JobID // those that Submit added
}

// name is what a job is called, and whose it is.
type name struct {
	job    string
	tenant poise.TenantID
}

// Open makes a fork at a time. Of the settings, lanes and constants of profiles are
// those of the state's policies. It goes on from where the loop of the state was; from
// is nil where that is not known: what waits is tried once then. Close it.
func Open(ctx context.Context, b *stack.Builder, s *state.State, from *loop.Progress, now poise.Time, settings loop.Settings) (*Fork, error) {
	policies := s.Policies()
	scheduler := policies.Scheduler()
	if scheduler == nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "look ahead", Detail: "scheduler: none in the state, expected one of a daemon that has begun to decide"}
	}
	settings.Params = stack.Params(scheduler)
	settings.LaneOf = func(tenant poise.TenantID) string {
		if policies.Activation(tenant) == nil {
			return ""
		}
		return string(tenant)
	}
	l, err := loop.New(s, settings)
	if err != nil {
		return nil, err
	}
	f := &Fork{loop: l, settings: settings, stacks: map[string]*stack.Stack{}, now: now, known: map[poise.JobID]name{}}
	if record, ok := s.View().Classes().(*model.Record); ok {
		classes, err := model.Restore(*record)
		if err != nil {
			return nil, err
		}
		l.UseModel(classes)
	}
	for _, j := range s.All() {
		f.known[j.ID] = name{j.Name, j.Tenant}
		if j.Waiting() {
			err = f.lane(ctx, b, j.Tenant)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	if from == nil {
		return f, l.Fill()
	}
	return f, l.Resume(from, now)
}

// lane opens the lane of a tenant, unless it is.
func (f *Fork) lane(ctx context.Context, b *stack.Builder, tenant poise.TenantID) error {
	lane := f.settings.LaneOf(tenant)
	if f.stacks[lane] != nil {
		return nil
	}
	st, err := b.Build(ctx, f.loop.State().Policies(), poise.TenantID(lane))
	if err != nil {
		return err
	}
	f.stacks[lane] = st
	f.loop.Open(lane, st.Policy, false)
	return nil
}

// Close frees the policies.
func (f *Fork) Close() {
	for _, st := range f.stacks {
		st.Close()
	}
}

// Faults gives what keeps plugins from being in force: their failure rules decide.
func (f *Fork) Faults() []error {
	var all []error
	for _, st := range f.stacks {
		if err := st.Fault(); err != nil {
			all = append(all, err)
		}
	}
	return all
}

func (f *Fork) apply(body poise.Body) error {
	return f.loop.Apply(poise.Event{Index: f.loop.State().Index() + 1, At: f.now, Body: body})
}

// Submit adds a job under an id of its own. After are names or ids of jobs that it
// comes after, of the same tenant: those that were submitted before it here, or
// that wait or run; one that is not there has ended.
func (f *Fork) Submit(ctx context.Context, b *stack.Builder, j poise.Job, after []string) error {
	j.ID, j.After = poise.JobID(fmt.Sprintf("plan-%d", len(f.own)+1)), nil
	for _, text := range after {
		if id, ok := f.find(j.Tenant, text); ok {
			j.After = append(j.After, id)
		}
	}
	if j.Gang != nil {
		g := *j.Gang
		g.ID = "plan/" + g.ID // one of that id may be there
		j.Gang = &g
	}
	if err := f.lane(ctx, b, j.Tenant); err != nil {
		return err
	}
	if err := f.apply(poise.JobSubmitted{Job: j}); err != nil {
		return err
	}
	for _, body := range f.loop.Due(f.now) {
		if err := f.apply(body); err != nil {
			return err
		}
	}
	f.own = append(f.own, j.ID)
	f.known[j.ID] = name{j.Name, j.Tenant}
	return nil
}

// find gives the job of a tenant with that name or id that came last.
func (f *Fork) find(tenant poise.TenantID, text string) (poise.JobID, bool) {
	var found *state.Job
	for id, n := range f.known {
		if n.tenant != tenant || n.job != text && string(id) != text {
			continue
		}
		if j := f.loop.State().Job(id); j != nil && (found == nil || j.Seq > found.Seq) {
			found = j
		}
	}
	if found == nil {
		return "", false
	}
	return found.ID, true
}

// Fuel gives what the policy of a tenant's own has used here, 0 where it has none.
func (f *Fork) Fuel(tenant poise.TenantID) int64 {
	st := f.stacks[string(tenant)]
	if st == nil || tenant == "" {
		return 0
	}
	sum := int64(0)
	for i := range st.Layers {
		if g := st.Layers[i].Guest; g != nil {
			sum += g.Counters().Read().Fuel
		}
	}
	return sum
}

// spent says whether the policy of a tenant has used more than so much.
func (f *Fork) spent(fuel int64) bool {
	for name := range f.stacks {
		if f.Fuel(poise.TenantID(name)) > fuel {
			return true
		}
	}
	return false
}

// Run looks ahead, until the policy of some tenant has used its fuel, 0 = however much
// that is. The fork is used up.
func (f *Fork) Run(b sim.Bounds, fuel int64) (*Outlook, error) {
	if stop := b.Stop; fuel > 0 {
		b.Stop = func() bool { return stop != nil && stop() || f.spent(fuel) }
	}
	own := map[poise.JobID]bool{}
	for _, id := range f.own {
		own[id] = true
	}
	b.Explain = func(j *state.Job) bool { return own[j.ID] }
	made, err := sim.NewForecast(f.loop, f.now, b)
	if err != nil {
		return nil, err
	}
	return &Outlook{Forecast: made, known: f.known, own: own}, nil
}
