package daemon

import (
	"context"
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// Share implements api.Tenancy.
func (d *Daemon) Share(ctx context.Context, id poise.TenantID) (share client.Share, err error) {
	err = d.do(ctx, func(c *core) error {
		share = shareView(c.loop.State(), id)
		return nil
	})
	return share, err
}

// SetShare implements api.Tenancy. What else is known of the tenant stays.
func (d *Daemon) SetShare(ctx context.Context, t poise.Tenant) (share client.Share, err error) {
	err = d.durably(ctx, func(c *core) error {
		if was := c.loop.State().Policies().Tenant(t.ID); was != nil {
			t.Signed, t.Keys = was.Signed, was.Keys
		}
		if err := d.changeTenants(c, poise.TenantSet{Tenant: t}); err != nil {
			return err
		}
		share = shareView(c.loop.State(), t.ID)
		return nil
	})
	return share, err
}

func shareView(s *state.State, id poise.TenantID) client.Share {
	v := client.Share{Tenant: string(id), Warnings: s.QuotaWarnings(), ShareSpec: client.ShareSpec{Quotas: []client.Quota{}}, Holds: []client.Holding{}}
	v.Dominant, v.Resource = s.Share(id)
	v.Past = s.PastShare(id, false)
	print := func(name string, amount int64) client.Quantity {
		if amount == 0 {
			return ""
		}
		return client.Quantity(resource.Format(name, amount))
	}
	var names []string
	if t := s.Policies().Tenant(id); t != nil {
		v.Parent, v.Weight, v.RefuseUnfit = string(t.Parent), t.Weight, t.RefuseUnfit
		for _, q := range t.Quotas {
			v.Quotas = append(v.Quotas, client.Quota{
				Resource: q.Resource, Guaranteed: print(q.Resource, q.Guaranteed), Limit: print(q.Resource, q.Limit), Reserved: print(q.Resource, q.Reserved),
			})
			names = append(names, q.Resource)
		}
	}
	names = append(append(names, s.View().Dims()...), s.View().Kinds()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if used := s.Used(id, name); name != "" && (used != 0 || v.Quotas != nil && slices.ContainsFunc(v.Quotas, func(q client.Quota) bool { return q.Resource == name })) {
			v.Holds = append(v.Holds, client.Holding{Resource: name, Used: client.Quantity(resource.Format(name, used)), Fleet: client.Quantity(resource.Format(name, s.Total(name)))})
		}
	}
	return v
}
