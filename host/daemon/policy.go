package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// byConfiguration is who put the plugin of the configuration in force.
const byConfiguration = "configuration"

// scheduler gives what of the configuration decisions depend on.
func scheduler(c *config.Config) poise.Scheduler {
	p, l := &c.Scheduler.Params, &c.Policy.Limits
	return poise.Scheduler{
		Policy: c.Scheduler.Policy, Ties: c.Scheduler.Ties, Seed: uint64(c.Scheduler.Seed), ProtectDevices: c.Scheduler.ProtectDevices,
		Beta: p.Beta, Lambda: p.Lambda, Gamma: p.Gamma, Epsilon: p.Epsilon, Cover: p.Cover, Shapes: int(p.Shapes), HalfLife: c.Scheduler.HalfLife,
		UsageHalfLife: span(c.Queue.UsageHalfLife),
		Limits: poise.PluginLimits{
			Memory: int64(l.Memory), GoMemory: int64(l.GoMemory), CallFuel: l.CallFuel, GoCallFuel: l.GoCallFuel, SetupFuel: l.SetupFuel,
			JobFuel: l.JobFuel, RowFuel: l.RowFuel, ShapeFuel: policy.Defaults().ShapeFuel,
		},
	}
}

// builder makes what builds the policies in force.
func builder(c *config.Config, child []string, m stack.Modules) *stack.Builder {
	l := &c.Policy.Limits
	return stack.NewBuilder(stack.Options{
		Cache: filepath.Join(c.DataDir, "plugins"), Child: child,
		ModuleBytes: int(l.Module), Compile: l.CompileTime, CompileMemory: int64(l.CompileMemory),
	}, m)
}

// swap is a change of what is in force, ready to be made in one turn of the loop.
type swap struct {
	bodies []poise.Body
	open   []*lane
	close  []poise.TenantID
}

// discard frees what was made for a swap that is not made.
func (s *swap) discard() {
	for _, l := range s.open {
		l.stack.Close()
	}
}

// prepare builds the lanes that the events lead to from what is in force, and
// refuses events that do not apply. Where all is set, every lane is built.
func (d *Daemon) prepare(ctx context.Context, now *state.Policies, bodies []poise.Body, all bool) (*swap, error) {
	after := now.Clone()
	touched := map[poise.TenantID]bool{}
	for _, body := range bodies {
		if err := after.Apply(poise.Event{Body: body}); err != nil {
			return nil, err
		}
		switch b := body.(type) {
		case poise.SchedulerSet:
			all = true
		case poise.PolicySet:
			touched[b.Activation.Tenant] = true
		case poise.PolicyRolledBack:
			touched[b.Tenant] = true
		case poise.PolicyCleared:
			touched[b.Tenant] = true
		case poise.PolicyQuarantined:
			touched[b.Tenant] = true
		case poise.TenantRemoved:
			touched[b.Tenant] = true
		}
	}
	if all = all || touched[""]; all { // what stands under each tenant's policy has changed
		touched[""] = true
		for _, id := range after.Activated() {
			touched[id] = true
		}
	}
	s := &swap{bodies: bodies}
	for id := range touched {
		if id != "" && after.Activation(id) == nil {
			s.close = append(s.close, id)
			continue
		}
		st, err := d.builder.Build(ctx, after, id)
		if err != nil {
			s.discard()
			return nil, err
		}
		s.open = append(s.open, newLane(id, st))
	}
	return s, nil
}

// change applies events about what is in force, and has the loop plan by them
// from the same turn on. They are durable when it returns.
func (d *Daemon) change(ctx context.Context, bodies ...poise.Body) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.changeLocked(ctx, bodies)
}

// changeLocked is change, if all of when hold in the turn that makes it.
func (d *Daemon) changeLocked(ctx context.Context, bodies []poise.Body, when ...func(*core) error) error {
	now, err := d.inForce(ctx)
	if err != nil {
		return err
	}
	s, err := d.prepare(ctx, now, bodies, false)
	if err != nil {
		return err
	}
	made := false
	err = d.durably(ctx, func(c *core) error {
		for _, holds := range when {
			if err := holds(c); err != nil {
				return err
			}
		}
		if err := c.swap(s); err != nil {
			return err
		}
		made = true
		d.tenants.know(c)
		return nil
	})
	if !made {
		s.discard()
	}
	return err
}

// inForce gives what is in force now.
func (d *Daemon) inForce(ctx context.Context) (now *state.Policies, err error) {
	err = d.do(ctx, func(c *core) error {
		now = c.loop.State().Policies()
		return nil
	})
	return now, err
}

// configured gives the events that bring what is in force to what the
// configuration says. The plugin that it names is loaded and kept.
func (d *Daemon) configured(ctx context.Context, c *config.Config, now *state.Policies) ([]poise.Body, error) {
	var bodies []poise.Body
	s := scheduler(c)
	if was := now.Scheduler(); was == nil || *was != s {
		bodies = append(bodies, poise.SchedulerSet{Scheduler: s})
	}
	was := now.Activation("")
	if c.Policy.Path == "" {
		if was != nil && was.By == byConfiguration {
			bodies = append(bodies, poise.PolicyCleared{})
		}
		return bodies, nil
	}
	bin, err := os.ReadFile(c.Policy.Path)
	if err != nil {
		return nil, &poise.Error{Kind: poise.NotFound, Op: "configuration", Detail: "policy.path", Err: err}
	}
	a := poise.Activation{Params: c.Policy.Params, Weight: c.Policy.Weight, OnFailure: c.Policy.OnFailure, By: byConfiguration}
	if err := d.admit(ctx, &s, bin, &a); err != nil {
		return nil, fmt.Errorf("policy.path %s: %w", c.Policy.Path, err)
	}
	if was == nil || !sameActivation(was, &a) {
		bodies = append(bodies, poise.PolicySet{Activation: a})
	}
	return bodies, nil
}

func sameActivation(a, b *poise.Activation) bool {
	return a.Digest == b.Digest && maps.Equal(a.Params, b.Params) && a.Weight == b.Weight && a.OnFailure == b.OnFailure && a.By == b.By
}

// admit keeps a module and fills in what an activation of it says of it: name,
// version, digest, and the failure rule where none is given. The module is tried
// as it would stand; what is wrong with it is the error.
func (d *Daemon) admit(ctx context.Context, s *poise.Scheduler, bin []byte, a *poise.Activation) error {
	m, err := d.builder.Load(ctx, s.Limits, bin)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close(ctx) }() // it has no error to give
	a.Plugin, a.Version, a.Digest = m.Manifest.Name, m.Manifest.Version, m.Digest
	if a.OnFailure == "" {
		a.OnFailure = ruleOf(m)
	}
	if err := d.store.PutModule(ctx, m.Digest, bin); err != nil {
		return err
	}
	trial := state.NewPolicies()
	if err := trial.Apply(poise.Event{Body: poise.SchedulerSet{Scheduler: *s}}); err != nil {
		return err
	}
	st, err := d.builder.BuildWith(ctx, trial, a)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Fault()
}
