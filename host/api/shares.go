package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

func (s *server) shareRoutes() {
	type path struct {
		Tenant string `path:"tenant"`
	}
	handle(s, http.MethodGet, "/v1/tenants/{tenant}/share", "get-share", "Say what part of the fleet a tenant gets and has", func(ctx context.Context, in *path) (*body[client.Share], error) {
		id, err := s.seen(ctx, in.Tenant)
		if err != nil {
			return nil, err
		}
		share, err := s.backend.Share(ctx, id)
		if !callOf(ctx).Role.Global() {
			share.Warnings = nil // they name other tenants
		}
		return answer(share, err)
	})
	type change struct {
		Tenant string `path:"tenant"`
		Body   client.ShareSpec
	}
	handle(s, http.MethodPut, "/v1/tenants/{tenant}/share", "set-share", "Set what part of the fleet a tenant gets", func(ctx context.Context, in *change) (*body[client.Share], error) {
		id, err := s.seen(ctx, in.Tenant)
		if err != nil {
			return nil, err
		}
		about(ctx, id, "share of tenant "+string(id))
		t := poise.Tenant{ID: id, Parent: poise.TenantID(in.Body.Parent), Weight: in.Body.Weight, RefuseUnfit: in.Body.RefuseUnfit}
		for _, q := range in.Body.Quotas {
			quota, err := parseQuota(q)
			if err != nil {
				return nil, err
			}
			t.Quotas = append(t.Quotas, quota)
		}
		if err := t.Validate(); err != nil {
			return nil, err
		}
		return answer(s.backend.SetShare(ctx, t))
	})
}

func parseQuota(q client.Quota) (poise.Quota, error) {
	out := poise.Quota{Resource: q.Resource}
	for _, f := range []struct {
		name string
		text client.Quantity
		to   *int64
	}{{"guaranteed", q.Guaranteed, &out.Guaranteed}, {"limit", q.Limit, &out.Limit}, {"reserved", q.Reserved, &out.Reserved}} {
		if f.text == "" {
			continue
		}
		amount, err := resource.ParseCapacity(q.Resource, string(f.text))
		if err != nil {
			return out, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("quota of %.80q", q.Resource), Detail: f.name, Err: err}
		}
		*f.to = amount
	}
	return out, nil
}
