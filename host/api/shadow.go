package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Shadows are the plugins that run beside the policies in force. tenant "" is the
// cluster's. Where there is none, the error is a NotFound.
type Shadows interface {
	// StartShadow is a Conflict where there is one.
	StartShadow(ctx context.Context, tenant poise.TenantID, spec client.ShadowSpec, by string) (client.Shadow, error)
	Shadow(ctx context.Context, tenant poise.TenantID) (client.Shadow, error)
	StopShadow(ctx context.Context, tenant poise.TenantID) error
	// RerunShadow begins to decide recorded jobs anew and does not wait for it.
	RerunShadow(ctx context.Context, tenant poise.TenantID) (client.ShadowRerun, error)

	RecordedCases(ctx context.Context, tenant poise.TenantID, filter client.CaseFilter) (client.RecordedCases, error)
	// Scene has no names or tasks of other tenants.
	Scene(ctx context.Context, tenant poise.TenantID, index uint64, job string) (client.Scene, error)
}

// maxLast bounds the decisions that one request lists for tests.
const maxLast = 100

// Scope says whose policy, plugin or shadow a request is about.
type Scope struct {
	Cluster bool `query:"cluster" doc:"The cluster's in place of a tenant's; for operators"`
}

// whose gives the tenant that a request about a shadow is for. Only who is of no
// tenant may have the cluster's.
func whose(ctx context.Context, cluster bool) (poise.TenantID, error) {
	if !cluster {
		return ownerOf(ctx), nil
	}
	if own := tenantOf(ctx); own != "" {
		return own, &poise.Error{Kind: poise.Denied, Detail: "cluster: true, expected an operator or admin who acts for no tenant"}
	}
	return "", nil
}

func shadowName(tenant poise.TenantID) string {
	if tenant == "" {
		return "shadow of the cluster"
	}
	return "shadow of tenant " + string(tenant)
}

func (s *server) shadowRoutes() {
	type start struct {
		Cluster bool `query:"cluster" doc:"The cluster's in place of a tenant's; for operators"`
		Body    client.ShadowSpec
	}
	handle(s, http.MethodPost, "/v1/shadow", "start-shadow", "Run a plugin beside the policy in force; it decides nothing", func(ctx context.Context, in *start) (*body[client.Shadow], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, shadowName(tenant))
		return answer(s.backend.StartShadow(ctx, tenant, in.Body, callOf(ctx).Who))
	}, answers(http.StatusCreated))
	handle(s, http.MethodGet, "/v1/shadow", "get-shadow", "What the shadow has shown so far", func(ctx context.Context, in *Scope) (*body[client.Shadow], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		return answer(s.backend.Shadow(ctx, tenant))
	})
	handle(s, http.MethodDelete, "/v1/shadow", "stop-shadow", "End the shadow and forget what it has shown", func(ctx context.Context, in *Scope) (*struct{}, error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, shadowName(tenant))
		return nil, s.backend.StopShadow(ctx, tenant)
	}, answers(http.StatusNoContent))
	handle(s, http.MethodPost, "/v1/shadow/fleet", "rerun-shadow", "Begin to find out what the fleet would be like if the shadow had decided", func(ctx context.Context, in *Scope) (*body[client.ShadowRerun], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, shadowName(tenant))
		return answer(s.backend.RerunShadow(ctx, tenant))
	}, answers(http.StatusAccepted))
	type cases struct {
		Cluster   bool `query:"cluster" doc:"The cluster's in place of a tenant's; for operators"`
		Last      int  `query:"last" minimum:"0" maximum:"100" doc:"The latest so many decisions by the policy in force, in place of the shadow's cases"`
		Differing bool `query:"differing" doc:"Of the shadow's cases, only those on which it differs"`
	}
	handle(s, http.MethodGet, "/v1/shadow/cases", "list-cases", "List live decisions that are worth a test of the plugin", func(ctx context.Context, in *cases) (*body[client.RecordedCases], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		return answer(s.backend.RecordedCases(ctx, tenant, client.CaseFilter{Cluster: in.Cluster, Last: min(in.Last, maxLast), Differ: in.Differing}))
	})
	type scene struct {
		Cluster bool   `query:"cluster" doc:"The cluster's in place of a tenant's; for operators"`
		Index   uint64 `path:"index"`
		Job     string `path:"job" doc:"Id"`
	}
	handle(s, http.MethodGet, "/v1/shadow/cases/{index}/{job}", "get-case", "What a plugin got to see of a decision", func(ctx context.Context, in *scene) (*body[client.Scene], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		return answer(s.backend.Scene(ctx, tenant, in.Index, in.Job))
	})
}
