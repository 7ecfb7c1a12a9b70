package daemon

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/registry"
)

// Signing implements api.Tenancy.
func (d *Daemon) Signing(ctx context.Context, id poise.TenantID) (client.Signing, error) {
	now, err := d.inForce(ctx)
	if err != nil {
		return client.Signing{}, err
	}
	s := client.Signing{Keys: []string{}}
	if t := now.Tenant(id); t != nil {
		s.Required, s.Keys = t.Signed, append(s.Keys, t.Keys...)
	}
	return s, nil
}

// SetSigning implements api.Tenancy. What else is known of the tenant stays.
func (d *Daemon) SetSigning(ctx context.Context, id poise.TenantID, s client.Signing) (client.Signing, error) {
	if s.Required && len(s.Keys) == 0 {
		return s, &poise.Error{
			Kind: poise.Invalid, Op: fmt.Sprintf("signing of tenant %q", id),
			Detail: "keys: none, and signatures are required, expected one key at least",
		}
	}
	keys, err := registry.Keys(s.Keys)
	if err != nil {
		return s, fmt.Errorf("signing of tenant %q: %w", id, err)
	}
	s.Keys = keys
	return s, d.durably(ctx, func(c *core) error {
		t := poise.Tenant{ID: id}
		if was := c.loop.State().Policies().Tenant(id); was != nil {
			t = *was
		}
		t.Signed, t.Keys = s.Required, s.Keys
		return d.changeTenants(c, poise.TenantSet{Tenant: t})
	})
}
