package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// shadowSlots bounds the shadows that plan at one time: they share the machine
// with what decides.
const shadowSlots = 1

// openShadows takes up the shadows that were running. One of a tenant that is
// gone is forgotten.
func (d *Daemon) openShadows(ctx context.Context) error {
	d.shades = &shadowTools{
		build: func(ctx context.Context, p *state.Policies, a *poise.Activation) (*stack.Stack, error) {
			return d.builder.BuildWith(ctx, p, a)
		},
		live: func(ctx context.Context, p *state.Policies, tenant poise.TenantID) (*stack.Stack, error) {
			return d.builder.Build(ctx, p, tenant)
		},
		rate:  func() int64 { return d.options.Config.Current().Config.Policy.Limits.TenantFuel },
		slots: make(chan struct{}, shadowSlots), reruns: make(chan struct{}, 1), keep: d.store.PutShadow, log: d.log,
	}
	rows, err := d.store.Shadows(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		var k keptShadow
		if err := json.Unmarshal(row.Body, &k); err != nil {
			return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("read shadow of tenant %q", row.Tenant), Err: err}
		}
		if id := poise.TenantID(row.Tenant); id != "" && id != poise.DefaultTenant && d.absent(id) {
			if err := d.store.DeleteShadow(ctx, row.Tenant); err != nil {
				return err
			}
			continue
		}
		sh := newShadow(d.shades, k)
		d.core.shadows[k.Activation.Tenant] = sh
		sh.begin(ctx)
	}
	return nil
}

// closeShadows ends all shadows; what they have shown is kept. The loop does not
// run any more.
func (d *Daemon) closeShadows() {
	if d.core == nil {
		return
	}
	for _, sh := range d.core.shadows {
		sh.end()
	}
}

// StartShadow implements api.Shadows.
func (d *Daemon) StartShadow(ctx context.Context, tenant poise.TenantID, spec client.ShadowSpec, by string) (client.Shadow, error) {
	op := "start " + shadowOf(tenant)
	if err := d.store.Stalled(); err != nil {
		return client.Shadow{}, err
	}
	now, err := d.inForce(ctx)
	if err != nil {
		return client.Shadow{}, err
	}
	a := poise.Activation{Tenant: tenant, Params: spec.Params, Weight: spec.Weight, OnFailure: spec.OnFailure, By: by}
	symbols, err := d.tryShadow(ctx, now, spec.Plugin, &a)
	if err != nil {
		return client.Shadow{}, fmt.Errorf("%s: %w", op, err)
	}
	d.changing.Lock() // no module is deleted meanwhile
	defer d.changing.Unlock()
	d.shading.Lock()
	defer d.shading.Unlock()
	if _, err := d.store.Module(ctx, a.Digest); err != nil {
		return client.Shadow{}, err
	}
	sh := newShadow(d.shades, keptShadow{Activation: a, By: by})
	err = d.durably(ctx, func(c *core) error {
		if there := c.shadows[tenant]; there != nil {
			return &poise.Error{Kind: poise.Conflict, Op: op, Detail: fmt.Sprintf("plugin %q is one already, expected it stopped before", there.kept.Activation.Plugin+" "+there.kept.Activation.Version)}
		}
		if len(symbols.Labels)+len(symbols.Values) > 0 {
			if err := c.event(symbols); err != nil {
				return err
			}
		}
		sh.kept.Since, sh.kept.From = c.now(), c.loop.State().Index()
		return nil
	})
	if err != nil {
		return client.Shadow{}, err
	}
	// What it saw would be lost if it began before it is kept.
	if err := sh.put(ctx, &sh.kept); err != nil {
		return client.Shadow{}, err
	}
	sh.begin(ctx)
	err = d.do(ctx, func(c *core) error {
		c.shadows[tenant] = sh
		return nil
	})
	if err != nil {
		sh.end()
		return client.Shadow{}, err
	}
	return d.Shadow(ctx, tenant)
}

func shadowOf(tenant poise.TenantID) string {
	if tenant == "" {
		return "shadow of the cluster"
	}
	return fmt.Sprintf("shadow of tenant %q", tenant)
}

// tryShadow fills in what an activation says of its plugin and refuses one that
// could not be put in force. It gives what it wants numbered.
func (d *Daemon) tryShadow(ctx context.Context, now *state.Policies, name string, a *poise.Activation) (poise.SymbolsWanted, error) {
	m, err := d.candidate(ctx, now, name, a)
	if err != nil {
		return poise.SymbolsWanted{}, err
	}
	defer func() { _ = m.Close(ctx) }() // it has no error to give
	st, err := d.builder.BuildWith(ctx, now, a)
	if err != nil {
		return poise.SymbolsWanted{}, err
	}
	defer st.Close()
	return st.Symbols, st.Layers[len(st.Layers)-1].Fault
}

// shadowModules gives the digests of the modules that shadows run.
func (d *Daemon) shadowModules(ctx context.Context) (digests []string, err error) {
	err = d.do(ctx, func(c *core) error {
		for _, sh := range c.shadows {
			digests = append(digests, sh.kept.Activation.Digest)
		}
		return nil
	})
	return digests, err
}

// running gives the shadow of a tenant.
func (d *Daemon) running(ctx context.Context, tenant poise.TenantID) (sh *shadow, err error) {
	err = d.do(ctx, func(c *core) error {
		if sh = c.shadows[tenant]; sh == nil {
			return &poise.Error{Kind: poise.NotFound, Op: shadowOf(tenant), Detail: "none, expected one that poise plugin shadow start has started"}
		}
		return nil
	})
	return sh, err
}

// StopShadow implements api.Shadows.
func (d *Daemon) StopShadow(ctx context.Context, tenant poise.TenantID) error {
	if err := d.store.Stalled(); err != nil {
		return err
	}
	d.shading.Lock()
	defer d.shading.Unlock()
	sh, err := d.running(ctx, tenant)
	if err != nil {
		return err
	}
	if err := d.do(ctx, func(c *core) error { delete(c.shadows, tenant); return nil }); err != nil {
		return err
	}
	sh.end()
	return d.store.DeleteShadow(ctx, string(tenant))
}
