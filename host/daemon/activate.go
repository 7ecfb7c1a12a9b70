package daemon

import (
	"context"
	"fmt"
	"maps"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/registry"
	"github.com/poise-sched/poise/host/state"
)

// Activate implements api.Plugins. The name is resolved here, once: what comes
// into force is a digest.
func (d *Daemon) Activate(ctx context.Context, tenant poise.TenantID, spec client.ActivationSpec, by string) (client.PolicyStack, error) {
	if err := d.activate(ctx, tenant, spec, by); err != nil {
		return client.PolicyStack{}, fmt.Errorf("activate %q: %w", spec.Plugin, err)
	}
	return d.Policy(ctx, tenant)
}

func (d *Daemon) activate(ctx context.Context, tenant poise.TenantID, spec client.ActivationSpec, by string) error {
	if err := d.ownsCluster(tenant); err != nil {
		return err
	}
	a := poise.Activation{Tenant: tenant, Params: spec.Params, Weight: spec.Weight, OnFailure: spec.OnFailure, By: by}
	now, err := d.inForce(ctx)
	if err != nil {
		return err
	}
	// Held until it is in force: what compiling takes is not waited for below.
	m, err := d.candidate(ctx, now, spec.Plugin, &a)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close(ctx) }() // it has no error to give
	d.changing.Lock()
	defer d.changing.Unlock()
	if now, err = d.inForce(ctx); err != nil {
		return err
	}
	if _, err := d.store.Module(ctx, a.Digest); err != nil { // deleted meanwhile
		return err
	}
	bodies := replaces(now.Activation(tenant), &a)
	if bodies == nil {
		return nil
	}
	st, err := d.builder.BuildWith(ctx, now, &a)
	if err != nil {
		return err
	}
	fault := st.Layers[len(st.Layers)-1].Fault
	st.Close()
	if fault != nil {
		return fault
	}
	if spec.Gate != nil {
		err = d.changeLocked(ctx, bodies, func(c *core) error { return c.passes(&a, spec.Gate) })
	} else {
		err = d.changeLocked(ctx, bodies)
	}
	if err != nil {
		return err
	}
	return d.graduate(ctx, &a)
}

// candidate loads the plugin that a name means for an activation's tenant, and
// fills in what the activation leaves open. One that the tenant could not put in
// force is refused.
func (d *Daemon) candidate(ctx context.Context, now *state.Policies, name string, a *poise.Activation) (*policy.Module, error) {
	row, err := d.resolve(ctx, a.Tenant, name)
	if err != nil {
		return nil, err
	}
	bin, err := d.bytesOf(ctx, &row)
	if err != nil {
		return nil, err
	}
	if t := now.Tenant(a.Tenant); t != nil && t.Signed {
		if err := registry.CheckSignature(bin, row.Signature, t.Keys); err != nil {
			return nil, err
		}
	}
	m, err := d.builder.Load(ctx, now.Scheduler().Limits, bin)
	if err != nil {
		return nil, err
	}
	if err := d.fits(m, a); err != nil {
		_ = m.Close(ctx) // it has no error to give
		return nil, err
	}
	return m, nil
}

// replaces gives the events that put an activation in force in place of the
// present one, none where that is the same. The same one that is in quarantine
// begins anew, and is not kept to be rolled back to.
func replaces(was, a *poise.Activation) []poise.Body {
	set := []poise.Body{poise.PolicySet{Activation: *a}}
	if was == nil || was.Digest != a.Digest || !maps.Equal(was.Params, a.Params) || was.Weight != a.Weight || was.OnFailure != a.OnFailure {
		return set
	}
	if !was.Quarantined {
		return nil
	}
	return append([]poise.Body{poise.PolicyRolledBack{Tenant: a.Tenant}}, set...)
}

// fits checks what an activation says of a module, and fills in what it leaves
// open.
func (d *Daemon) fits(m *policy.Module, a *poise.Activation) error {
	a.Plugin, a.Version, a.Digest = m.Manifest.Name, m.Manifest.Version, m.Digest
	if a.OnFailure == "" {
		a.OnFailure = ruleOf(m)
	}
	refuse := func(format string, args ...any) error {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf(format, args...)}
	}
	if _, err := m.Manifest.Settings(a.Params); err != nil {
		return refuse("parameter %v", err)
	}
	switch most := d.options.Config.Current().Config.Policy.Limits.TenantWeight; {
	case a.Weight != 0 && !m.Exports(abi.Score):
		return refuse("weight: %v, and the plugin gives no losses, expected 0", a.Weight)
	case a.Tenant != "" && a.Weight > most:
		return &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("weight: %v, expected at most %v, which is policy.limits.tenant_weight", a.Weight, most)}
	}
	// The rest is as the state has it.
	return state.NewPolicies().Apply(poise.Event{Body: poise.PolicySet{Activation: *a}})
}

// ruleOf is the failure rule where none is given: a filter that fails must not
// let through what it would refuse.
func ruleOf(m *policy.Module) string {
	if m.Exports(abi.Filter) {
		return poise.RuleReject
	}
	return poise.RuleFallback
}

// ownsCluster refuses to change the cluster's policy where the configuration has
// it.
func (d *Daemon) ownsCluster(tenant poise.TenantID) error {
	if path := d.options.Config.Current().Config.Policy.Path; tenant == "" && path != "" {
		return &poise.Error{Kind: poise.Conflict, Op: "policy of the cluster", Detail: fmt.Sprintf("policy.path: %q: the configuration says what is in force, expected no such setting", path)}
	}
	return nil
}

// Rollback implements api.Plugins.
func (d *Daemon) Rollback(ctx context.Context, tenant poise.TenantID) (client.PolicyStack, error) {
	err := d.ownsCluster(tenant)
	if err == nil {
		err = d.change(ctx, poise.PolicyRolledBack{Tenant: tenant})
	}
	if err != nil {
		return client.PolicyStack{}, err
	}
	return d.Policy(ctx, tenant)
}

// Deactivate implements api.Plugins.
func (d *Daemon) Deactivate(ctx context.Context, tenant poise.TenantID) error {
	if err := d.ownsCluster(tenant); err != nil {
		return err
	}
	return d.change(ctx, poise.PolicyCleared{Tenant: tenant})
}
