package api

import (
	"context"

	"github.com/poise-sched/poise/host/api/client"
)

// share leaves in a decision what the caller may know. A quota of a tenant above
// the caller's, or a guarantee of others, is an amount of theirs: what is left
// of it is that there is one, of which resource.
func share(ctx context.Context, d *client.Decision) {
	c := callOf(ctx)
	if d == nil || d.Quota == nil || c.Role.Global() {
		return
	}
	if q := d.Quota; q.Tenant != string(c.Tenant) || q.Withheld > 0 {
		d.Quota = &client.QuotaMiss{Resource: q.Resource, Ask: q.Ask}
	}
}

// whyFor gives a decision with its job as far as the caller may know it.
func whyFor(ctx context.Context, w client.Why, err error) (*body[client.Why], error) {
	share(ctx, w.Decision)
	if !callOf(ctx).Role.Global() {
		if q := w.Queue; q != nil {
			q.Tenants, q.Waiting = 0, 0
		}
		if b := w.Behind; b != nil {
			b.Whose = nil
		}
	}
	return answer(w, err)
}
