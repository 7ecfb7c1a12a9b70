package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func noTenant(id poise.TenantID) error {
	return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("tenant %q", id), Detail: "no such tenant"}
}

func (s *server) tenantRoutes() {
	handle(s, http.MethodGet, "/v1/whoami", "whoami", "Say who the caller is to the daemon", func(ctx context.Context, _ *struct{}) (*body[client.Self], error) {
		c := callOf(ctx)
		return answer(client.Self{Who: c.Who, Role: string(c.Role), Tenant: string(c.Tenant)}, nil)
	})
	type tenants struct {
		Tenants []client.Tenant `json:"tenants"`
	}
	handle(s, http.MethodGet, "/v1/tenants", "list-tenants", "List the tenants that the caller may see, by name", func(ctx context.Context, _ *struct{}) (*body[tenants], error) {
		if own := tenantOf(ctx); own != "" {
			return answer(tenants{[]client.Tenant{tenant(own)}}, nil)
		}
		list := []client.Tenant{tenant(poise.DefaultTenant)}
		for _, id := range s.backend.Tenants() {
			list = append(list, tenant(id))
		}
		return answer(tenants{list}, nil)
	})
	type creation struct {
		Body struct {
			Name string `json:"name" doc:"1 to 63 of a-z, 0-9 and -, with no - at either end"`
		}
	}
	handle(s, http.MethodPost, "/v1/tenants", "create-tenant", "Create a tenant, with a first token of its administrator", func(ctx context.Context, in *creation) (*body[client.NewTenant], error) {
		id := poise.TenantID(in.Body.Name)
		if len(id) > maxEcho {
			id = id[:maxEcho] // it is wrong in any case, and stays so
		}
		if err := id.Validate(); err != nil {
			return nil, err
		}
		about(ctx, id, "tenant "+string(id))
		if id == poise.DefaultTenant {
			return nil, &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("create tenant %q", id), Detail: "it is built in, expected another name"}
		}
		if err := s.backend.CreateTenant(ctx, id); err != nil {
			return nil, err
		}
		s.access.forget()
		first, err := s.mint(ctx, access.Token{Tenant: id, Role: access.TenantAdmin, Name: "first"})
		if err != nil {
			return nil, fmt.Errorf("tenant %q is there, and its first token is not; create one: %w", id, err)
		}
		return answer(client.NewTenant{Tenant: tenant(id), Token: first}, nil)
	}, answers(http.StatusCreated))
	type tenantPath struct {
		Tenant string `path:"tenant"`
	}
	handle(s, http.MethodDelete, "/v1/tenants/{tenant}", "remove-tenant", "Remove a tenant that has no jobs left, and its tokens", func(ctx context.Context, in *tenantPath) (*struct{}, error) {
		id := poise.TenantID(in.Tenant)
		about(ctx, id, "tenant "+string(id))
		if id == poise.DefaultTenant {
			return nil, &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("remove tenant %q", id), Detail: "it is built in, expected another"}
		}
		if !known(s.backend, id) {
			return nil, noTenant(id)
		}
		err := s.backend.RemoveTenant(ctx, id)
		s.access.forget()
		if err == nil {
			s.limits.forget(id)
		}
		return nil, err
	}, answers(http.StatusNoContent))
}

func tenant(id poise.TenantID) client.Tenant {
	return client.Tenant{Name: string(id), BuiltIn: id == poise.DefaultTenant}
}
