package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Plugins are the versions that tenants have pushed, and what of them is in
// force. tenant "" is the cluster's, which stands under each tenant's; where a
// list is asked for, it is all of them.
type Plugins interface {
	Plugins(ctx context.Context, tenant poise.TenantID, plugin string) ([]client.PluginVersion, error)
	// PushPlugin checks a module and keeps it as a version. The same module again
	// changes nothing but its tag; another one of the same name and version is a
	// Conflict, one that does not keep the contract is Invalid.
	PushPlugin(ctx context.Context, tenant poise.TenantID, p client.PluginPush, by string) (client.PluginVersion, error)
	PullPlugin(ctx context.Context, tenant poise.TenantID, ref string) (client.PluginModule, error)
	// DeletePlugin is a Conflict where the version is in force or may be again.
	DeletePlugin(ctx context.Context, tenant poise.TenantID, ref string) error
	CollectPlugins(ctx context.Context) (client.PluginsCollected, error)

	Policy(ctx context.Context, tenant poise.TenantID) (client.PolicyStack, error)
	Activate(ctx context.Context, tenant poise.TenantID, spec client.ActivationSpec, by string) (client.PolicyStack, error)
	Rollback(ctx context.Context, tenant poise.TenantID) (client.PolicyStack, error)
	Deactivate(ctx context.Context, tenant poise.TenantID) error
}

func policyName(tenant poise.TenantID) string {
	if tenant == "" {
		return "policy of the cluster"
	}
	return "policy of tenant " + string(tenant)
}

func (s *server) pluginRoutes() {
	type versions struct {
		Versions []client.PluginVersion `json:"versions"`
	}
	type filter struct {
		Plugin string `query:"plugin" doc:"Only the versions of this one"`
	}
	handle(s, http.MethodGet, "/v1/plugins", "list-plugins", "List the versions of plugins that may be put in force, by name, the latest first", func(ctx context.Context, in *filter) (*body[versions], error) {
		list, err := s.backend.Plugins(ctx, tenantOf(ctx), in.Plugin)
		return answer(versions{list}, err)
	})
	type push struct {
		Scope
		Body client.PluginPush
	}
	handle(s, http.MethodPost, "/v1/plugins", pushPlugin, "Push a version of a plugin: it is verified, compiled, checked against the contract and tried on this fleet", func(ctx context.Context, in *push) (*body[client.PluginVersion], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, "plugin")
		v, err := s.backend.PushPlugin(ctx, tenant, in.Body, callOf(ctx).Who)
		if err == nil {
			about(ctx, tenant, "plugin "+v.Plugin+"@"+v.Version+" "+v.Digest)
		}
		return answer(v, err)
	}, answers(http.StatusCreated), laborious)
	type Version struct { // with a capital, or the field is not seen where it is embedded

		Ref string `path:"ref" doc:"NAME, NAME@VERSION, NAME:TAG or NAME@sha256:DIGITS"`
	}
	handle(s, http.MethodGet, "/v1/plugins/{ref}/module", "pull-plugin", "Pull a version of a plugin with its bytes", func(ctx context.Context, in *Version) (*body[client.PluginModule], error) {
		return answer(s.backend.PullPlugin(ctx, ownerOf(ctx), in.Ref))
	})
	type deletion struct {
		Version
		Scope
	}
	handle(s, http.MethodDelete, "/v1/plugins/{ref}", "delete-plugin", "Delete a version of a plugin that is not in force and not to be rolled back to", func(ctx context.Context, in *deletion) (*struct{}, error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, "plugin "+in.Ref)
		return nil, s.backend.DeletePlugin(ctx, tenant, in.Ref)
	}, answers(http.StatusNoContent))
	handle(s, http.MethodPost, "/v1/collected-plugins", "collect-plugins", "Remove the modules that no version, no policy, no snapshot and no recorded decision needs", func(ctx context.Context, _ *struct{}) (*body[client.PluginsCollected], error) {
		about(ctx, "", "plugins")
		return answer(s.backend.CollectPlugins(ctx))
	})
}

func (s *server) policyRoutes() {
	handle(s, http.MethodGet, "/v1/policy", "explain-policy", "Explain how a tenant's jobs are ranked: what is in force, with what parameters and limits", func(ctx context.Context, in *Scope) (*body[client.PolicyStack], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		return answer(s.backend.Policy(ctx, tenant))
	})
	type activation struct {
		Scope
		Body client.ActivationSpec
	}
	handle(s, http.MethodPost, "/v1/policy", "activate-plugin", "Put a plugin in force: each decision is made by the one before or by this one", func(ctx context.Context, in *activation) (*body[client.PolicyStack], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, policyName(tenant)+": "+in.Body.Plugin)
		return answer(s.backend.Activate(ctx, tenant, in.Body, callOf(ctx).Who))
	})
	handle(s, http.MethodPost, "/v1/policy/rollback", "rollback-policy", "Put the plugin before the present one in force again, or none", func(ctx context.Context, in *Scope) (*body[client.PolicyStack], error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, policyName(tenant))
		return answer(s.backend.Rollback(ctx, tenant))
	})
	handle(s, http.MethodDelete, "/v1/policy", "deactivate-policy", "End the policy and forget those before it", func(ctx context.Context, in *Scope) (*struct{}, error) {
		tenant, err := whose(ctx, in.Cluster)
		if err != nil {
			return nil, err
		}
		about(ctx, tenant, policyName(tenant))
		return nil, s.backend.Deactivate(ctx, tenant)
	}, answers(http.StatusNoContent))
}

// labor is how long a push may take: its turn, a compile and the checks.
const labor = 5 * time.Minute

// laborious lets an operation take longer than others, once its body is there,
// which was read as a whole and may be longer than others too.
func laborious(op *huma.Operation) {
	op.MaxBodyBytes = -1
	op.Middlewares = append(op.Middlewares, func(hc huma.Context, next func(huma.Context)) {
		_, w := humago.Unwrap(hc)
		ctl := http.NewResponseController(w)
		// A writer that has no deadlines needs none.
		_ = ctl.SetReadDeadline(time.Time{})
		_ = ctl.SetWriteDeadline(time.Now().Add(labor))
		next(hc)
	})
}

// pushPlugin is the operation whose body is a module.
const pushPlugin = "push-plugin"
