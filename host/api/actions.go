package api

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
)

// actions says what each operation is to access. One that is not here cannot be
// registered.
var actions = map[string]access.Action{
	"health": access.Open,
	"ready":  access.Open,
	"whoami": access.KnowSelf,

	"get-oidc": access.Open,

	"submit-jobs":    access.ChangeJobs,
	"cancel-job":     access.ChangeJobs,
	"hold-job":       access.ChangeJobs,
	"release-job":    access.ChangeJobs,
	"set-priority":   access.ChangeJobs,
	"cancel-jobs":    access.ChangeJobs,
	"hold-jobs":      access.ChangeJobs,
	"release-jobs":   access.ChangeJobs,
	"plan-job":       access.PlanJobs,
	"plan-gang":      access.PlanJobs,
	"plan-jobs":      access.PlanJobs,
	"list-jobs":      access.ReadJobs,
	"get-job":        access.ReadJobs,
	"explain-job":    access.ReadJobs,
	"job-logs":       access.ReadJobs,
	"list-decisions": access.ReadJobs,
	"watch-events":   access.ReadJobs,

	"list-nodes":      access.ReadFleet,
	"get-node":        access.ReadFleet,
	"list-clusters":   access.ReadFleet,
	"list-classes":    access.ReadFleet,
	"join-node":       access.ChangeFleet,
	"update-node":     access.ChangeFleet,
	"leave-node":      access.ChangeFleet,
	"drain-node":      access.ChangeFleet,
	"undrain-node":    access.ChangeFleet,
	"join-cluster":    access.ChangeFleet,
	"leave-cluster":   access.ChangeFleet,
	"rebuild-classes": access.ChangeFleet,

	"node-heartbeat":   access.RunTasks,
	"list-assignments": access.RunTasks,
	"report-task":      access.RunTasks,

	"start-shadow": access.ChangePlugins,
	"stop-shadow":  access.ChangePlugins,
	"rerun-shadow": access.ChangePlugins,
	"get-shadow":   access.ReadPlugins,
	"list-cases":   access.ReadPlugins,
	"get-case":     access.ReadPlugins,

	"list-plugins":      access.ReadPlugins,
	"pull-plugin":       access.ReadPlugins,
	"explain-policy":    access.ReadPlugins,
	pushPlugin:          access.ChangePlugins,
	"delete-plugin":     access.ChangePlugins,
	"activate-plugin":   access.ChangePlugins,
	"rollback-policy":   access.ChangePlugins,
	"deactivate-policy": access.ChangePlugins,
	"collect-plugins":   access.ChangeFleet,

	"list-tenants":  access.ReadTenants,
	"create-tenant": access.ChangeTenants,
	"remove-tenant": access.ChangeTenants,
	"get-share":     access.ReadTenants,
	"set-share":     access.ChangeTenants,
	"get-signing":   access.ReadTenants,
	"set-signing":   access.ChangeTenants,
	"list-tokens":   access.ReadTokens,
	"create-token":  access.ChangeTokens,
	"revoke-token":  access.ChangeTokens,
	"list-audit":    access.ReadAudit,

	"save-snapshot": access.ReadState,
	"advise-fleet":  access.ReadState,
}

// actionOf gives the action of an operation.
func actionOf(id string) access.Action {
	a, ok := actions[id]
	if !ok {
		panic(fmt.Sprintf("BUG: operation %q has no action, expected a line in actions", id))
	}
	return a
}

// actionExtension is where the OpenAPI document has the action of an operation.
const actionExtension = "x-action"

// guard lets only those call an operation that may, and says so in the document.
func (s *server) guard(op *huma.Operation) {
	action := actionOf(op.OperationID)
	op.Extensions = map[string]any{actionExtension: string(action)}
	if action == access.Open {
		return
	}
	op.Security = []map[string][]string{{"token": {}}}
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: client.TenantHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "The tenant that an operator or admin acts for",
	})
	op.Middlewares = append(op.Middlewares, func(hc huma.Context, next func(huma.Context)) {
		err := callOf(hc.Context()).May(action)
		if err == nil {
			next(hc)
			return
		}
		_, w := humago.Unwrap(hc)
		p := refuse(hc.Context(), s.log, op.OperationID, err)
		if action.Changes() {
			_ = s.record(hc.Context(), op.OperationID, http.StatusForbidden, p.Detail) // the refusal is the answer
		}
		writeProblem(w, p)
	})
}
