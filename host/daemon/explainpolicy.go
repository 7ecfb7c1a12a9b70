package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// force is what is in force, and what the plugins in it have done.
type force struct {
	policies *state.Policies
	use      map[poise.TenantID]*client.PluginCost // by whose activation it is
}

// force takes a look at what is in force.
func (d *Daemon) force(ctx context.Context) (*force, error) {
	f := &force{use: map[poise.TenantID]*client.PluginCost{}}
	err := d.do(ctx, func(c *core) error {
		f.policies = c.loop.State().Policies()
		for _, p := range c.pluginUse() {
			f.use[poise.TenantID(p.Tenant)] = &client.PluginCost{Calls: p.Calls, Rows: p.Rows, Fuel: p.Fuel, Faults: p.Faults}
		}
		return nil
	})
	return f, err
}

// mark says of a version whether it is in force for a tenant, or for any for "",
// and what it has done.
func (f *force) mark(v *client.PluginVersion, tenant poise.TenantID) {
	who := []poise.TenantID{tenant}
	if tenant == "" {
		who = f.policies.Activated()
	}
	for _, id := range who {
		h := f.policies.History(id)
		for i, a := range h {
			switch {
			case a.Digest != v.Digest:
			case i < len(h)-1:
				v.Before = true
			default:
				v.Active, v.Quarantined = true, v.Quarantined || a.Quarantined
				v.Use = sumOf(v.Use, f.use[id])
			}
		}
	}
}

// sumOf adds what a plugin has done for one tenant and for another.
func sumOf(a, b *client.PluginCost) *client.PluginCost {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := &client.PluginCost{Calls: a.Calls + b.Calls, Rows: a.Rows + b.Rows, Fuel: a.Fuel + b.Fuel, Faults: maps.Clone(a.Faults)}
	for code, n := range b.Faults {
		sum.Faults[code] += n
	}
	return sum
}

// Policy implements api.Plugins.
func (d *Daemon) Policy(ctx context.Context, tenant poise.TenantID) (client.PolicyStack, error) {
	out := client.PolicyStack{Tenant: string(tenant), Layers: []client.PolicyLayer{}, Waits: d.board.rests.reason(tenant, d.core.now())}
	f, err := d.force(ctx)
	if err != nil {
		return out, err
	}
	since, err := d.activatedAt(ctx)
	if err != nil {
		return out, err
	}
	s := f.policies.Scheduler()
	out.Native = client.NativePolicy{
		Policy: s.Policy, Ties: s.Ties, Seed: s.Seed, ProtectDevices: s.ProtectDevices,
		Constants: map[string]float64{
			"beta": s.Beta, "lambda": s.Lambda, "gamma": s.Gamma, "epsilon": s.Epsilon, "cover": s.Cover, "shapes": float64(s.Shapes), "half_life": s.HalfLife,
		},
	}
	err = d.do(ctx, func(c *core) error {
		l := c.lanes[poise.TenantID(c.laneOf(tenant))]
		for i := range l.stack.Layers {
			layer := layerView(&l.stack.Layers[i], f.policies)
			a := f.policies.Activation(l.stack.Layers[i].Activation.Tenant)
			if a == nil {
				continue // another came into force meanwhile
			}
			layer.Since, layer.Use = client.At(since[a.Index]), f.use[a.Tenant]
			if layer.Limits != nil && a.Tenant != "" {
				limits := &d.options.Config.Current().Config.Policy.Limits
				layer.Limits.PerSecond, layer.Limits.Weight = limits.TenantFuel, limits.TenantWeight
			}
			out.Layers = append(out.Layers, layer)
		}
		return nil
	})
	return out, err
}

// activatedAt gives when activations came into force, by index, as far back as
// the log goes.
func (d *Daemon) activatedAt(ctx context.Context) (map[uint64]poise.Time, error) {
	records, err := d.store.EventsOf(ctx, poise.PolicySet{}.EventKind())
	at := map[uint64]poise.Time{}
	for i := range records {
		at[records[i].Seq] = poise.Time(records[i].At)
	}
	return at, err
}

// layerView gives a layer as it goes over the wire.
func layerView(l *stack.Layer, in *state.Policies) client.PolicyLayer {
	a := l.Activation
	v := client.PolicyLayer{
		Scope: "tenant", Plugin: a.Plugin, Version: a.Version, Digest: a.Digest, Params: a.Params, Weight: a.Weight,
		OnFailure: a.OnFailure, By: a.By, Quarantined: client.At(a.Since),
	}
	if a.Tenant == "" {
		v.Scope = "cluster"
	}
	history := in.History(a.Tenant)
	for i := len(history) - 2; i >= 0; i-- {
		h := history[i]
		v.History = append(v.History, client.PolicyBefore{Plugin: h.Plugin, Version: h.Version, Digest: h.Digest, Params: h.Params, Weight: h.Weight, By: h.By})
	}
	filters := a.OnFailure == poise.RuleReject
	if l.Fault != nil {
		v.Fault = l.Fault.Error()
	}
	if l.Guest != nil {
		m := l.Guest.Module()
		filters = m.Exports(abi.Filter)
		v.Exports, v.Params, v.Limits = exports(m), allParams(m.Manifest, a.Params), limitsView(m)
	}
	v.Rule = ruleText(a, filters, v.History)
	return v
}

// allParams adds the defaults.
func allParams(m *abi.Manifest, given map[string]string) map[string]string {
	all := map[string]string{}
	for i := range m.Params {
		p := &m.Params[i]
		text, ok := given[p.Name]
		if !ok {
			text = p.DefaultText()
		}
		all[p.Name] = text
	}
	return all
}

func limitsView(m *policy.Module) *client.LayerLimits {
	l := m.Limits()
	return &client.LayerLimits{Memory: int64(l.Module.MemoryPages) << 16, Setup: l.SetupFuel, Call: l.CallFuel, Job: l.JobFuel, Row: l.RowFuel}
}

// ruleText says what a failure rule means for a layer.
func ruleText(a *poise.Activation, filters bool, before []client.PolicyBefore) string {
	switch {
	case a.OnFailure == poise.RuleReject:
		return "while it fails, jobs wait"
	case a.OnFailure == poise.RuleLastGood && len(before) == 0:
		return "while it fails, jobs wait: there is no version before"
	case a.OnFailure == poise.RuleLastGood:
		return fmt.Sprintf("while it fails, %s %s decides; if that fails too, jobs wait", before[0].Plugin, before[0].Version)
	case filters:
		return "while it fails, what is under it decides, and no node is refused by it"
	}
	return "while it fails, what is under it decides"
}
