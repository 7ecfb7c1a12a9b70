package access

import "slices"

// Action is what a caller asks for. Every operation of the API is one of them.
type Action string

// The actions. On a tenant's things they are within the tenant that the caller
// acts for.
const (
	Open          Action = "open"           // anybody, a caller that nobody knows too
	KnowSelf      Action = "know-self"      // who the caller is
	ReadFleet     Action = "read-fleet"     // nodes with their labels, clusters, classes
	ChangeFleet   Action = "change-fleet"   // let nodes join, drain, leave; find classes anew
	RunTasks      Action = "run-tasks"      // what the executor of a node does
	ReadJobs      Action = "read-jobs"      // jobs, their logs, decisions, events
	PlanJobs      Action = "plan-jobs"      // dry runs, which cost what a decision costs
	ChangeJobs    Action = "change-jobs"    // submit, cancel
	ReadTokens    Action = "read-tokens"    // without their secrets
	ChangeTokens  Action = "change-tokens"  // see Principal.MayGrant
	ReadTenants   Action = "read-tenants"   // their names
	ChangeTenants Action = "change-tenants" // create, remove
	ReadPlugins   Action = "read-plugins"   // versions, what is in force, what a shadow has shown
	ChangePlugins Action = "change-plugins" // push, put in force, run as a shadow
	ReadAudit     Action = "read-audit"     // who changed what
	ReadMetrics   Action = "read-metrics"   // of all tenants
	ReadState     Action = "read-state"     // everything that decisions depend on, plugins of all tenants too
)

// allowed is the whole of it: which roles may do an action. An admin may do every
// one of them and is not named.
var allowed = map[Action][]Role{
	KnowSelf:      {Operator, TenantAdmin, Submitter, Viewer},
	ReadFleet:     {Operator, TenantAdmin, Submitter, Viewer},
	ReadJobs:      {Operator, TenantAdmin, Submitter, Viewer},
	ReadTenants:   {Operator, TenantAdmin, Submitter, Viewer},
	ReadPlugins:   {Operator, TenantAdmin, Submitter, Viewer},
	PlanJobs:      {Operator, TenantAdmin, Submitter},
	ChangeJobs:    {Operator, TenantAdmin, Submitter},
	ReadTokens:    {Operator, TenantAdmin},
	ChangeTokens:  {Operator, TenantAdmin},
	ChangePlugins: {Operator, TenantAdmin},
	ReadAudit:     {Operator, TenantAdmin},
	ChangeFleet:   {Operator},
	RunTasks:      {Operator},
	ChangeTenants: {Operator},
	ReadMetrics:   {Operator},
	ReadState:     {Operator},
}

// Allows says whether the role may do an action. Beyond what is open, a role or an
// action that there is not is allowed nothing.
func (r Role) Allows(a Action) bool {
	list, known := allowed[a]
	return a == Open || known && (r == Admin || slices.Contains(list, r))
}

// Changes says whether the action changes something that a person answers for,
// so that it goes into the audit log. What executors report is none of it: it is
// in the log of events.
func (a Action) Changes() bool {
	return a == ChangeFleet || a == ChangeJobs || a == ChangePlugins || a == ChangeTokens || a == ChangeTenants
}
