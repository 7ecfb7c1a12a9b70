package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// tenants are those that were created, as requests ask for them.
type tenants struct {
	list atomic.Pointer[[]poise.TenantID]
}

// know takes over what the state has.
func (t *tenants) know(c *core) {
	var list []poise.TenantID
	for _, one := range c.loop.State().Policies().Tenants() {
		if one.ID != poise.DefaultTenant { // it is known once it has a share
			list = append(list, one.ID)
		}
	}
	t.list.Store(&list)
}

// Tenants implements api.Tenancy.
func (d *Daemon) Tenants() []poise.TenantID { return *d.tenants.list.Load() }

// CreateTenant implements api.Tenancy.
func (d *Daemon) CreateTenant(ctx context.Context, id poise.TenantID) error {
	// A crash may have left tokens and plugins of one that was removed.
	if d.absent(id) {
		if err := d.forgetTenant(ctx, id); err != nil {
			return err
		}
	}
	return d.durably(ctx, func(c *core) error {
		if c.loop.State().Policies().Tenant(id) != nil {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("create tenant %q", id), Detail: "there is one of that name, expected a new name"}
		}
		return d.changeTenants(c, poise.TenantSet{Tenant: poise.Tenant{ID: id}})
	})
}

// RemoveTenant implements api.Tenancy.
func (d *Daemon) RemoveTenant(ctx context.Context, id poise.TenantID) error {
	// Its policy ends with it, and the lane that planned by it.
	if err := d.change(ctx, poise.TenantRemoved{Tenant: id}); err != nil {
		return err
	}
	// What it has shown is for no later tenant of that name.
	if err := d.StopShadow(ctx, id); err != nil && poise.KindOf(err) != poise.NotFound {
		return err
	}
	return d.forgetTenant(ctx, id)
}

// forgetTenant drops what the store has for a tenant beside its jobs. The modules
// of its plugins go when they are collected.
func (d *Daemon) forgetTenant(ctx context.Context, id poise.TenantID) error {
	return errors.Join(
		d.store.DeleteTokens(ctx, string(id)), d.store.DeleteVersions(ctx, string(id)), d.keepTokens(ctx, string(id)), d.keepPlugins(ctx, string(id)),
	)
}

func (d *Daemon) changeTenants(c *core, body poise.Body) error {
	if err := c.event(body); err != nil {
		return err
	}
	d.tenants.know(c)
	c.publish()
	return nil
}

func (d *Daemon) absent(id poise.TenantID) bool {
	for _, other := range d.Tenants() {
		if other == id {
			return false
		}
	}
	return true
}

// byName gives the job of a name that arrived last, of one tenant or of all.
func (d *Daemon) byName(ctx context.Context, tenant poise.TenantID, name string) (store.JobRow, error) {
	return d.newest(ctx, tenant, name, d.store.JobByName)
}

// newest gives the newest of what a lookup finds for a tenant, or for all for "".
func (d *Daemon) newest(
	ctx context.Context, tenant poise.TenantID, name string, lookup func(ctx context.Context, tenant, name string) (store.JobRow, error),
) (store.JobRow, error) {
	if tenant != "" {
		return lookup(ctx, string(tenant), name)
	}
	latest, err := lookup(ctx, string(poise.DefaultTenant), name)
	for _, t := range d.Tenants() {
		row, err2 := lookup(ctx, string(t), name)
		if err2 == nil && (err != nil || row.Seq > latest.Seq) {
			latest, err = row, nil
		}
	}
	return latest, err
}
