package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func (s *server) signingRoutes() {
	type path struct {
		Tenant string `path:"tenant"`
	}
	handle(s, http.MethodGet, "/v1/tenants/{tenant}/signing", "get-signing", "Say whose plugins a tenant takes", func(ctx context.Context, in *path) (*body[client.Signing], error) {
		id, err := s.seen(ctx, in.Tenant)
		if err != nil {
			return nil, err
		}
		return answer(s.backend.Signing(ctx, id))
	})
	type change struct {
		Tenant string `path:"tenant"`
		Body   client.Signing
	}
	handle(s, http.MethodPut, "/v1/tenants/{tenant}/signing", "set-signing", "Set whose plugins a tenant takes", func(ctx context.Context, in *change) (*body[client.Signing], error) {
		id, err := s.seen(ctx, in.Tenant)
		if err != nil {
			return nil, err
		}
		about(ctx, id, "signing of tenant "+string(id))
		return answer(s.backend.SetSigning(ctx, id, in.Body))
	})
}

// seen gives a tenant that is there and that the caller may see.
func (s *server) seen(ctx context.Context, name string) (poise.TenantID, error) {
	id := poise.TenantID(name)
	if own := tenantOf(ctx); own != "" && own != id || !known(s.backend, id) {
		return id, noTenant(id)
	}
	return id, nil
}
