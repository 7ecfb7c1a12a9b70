package poise

// Scheduler says how nodes are ranked where no plugin says otherwise, and what
// bounds every plugin. It is recorded, because decisions depend on it.
type Scheduler struct {
	Policy         string // idle-balance, idle-balance-spread or idle-balance-demand
	Ties           string // name or seeded
	Seed           uint64
	ProtectDevices bool

	// Constants of the idle-balance policies.
	Beta, Lambda, Gamma, Epsilon, Cover float64
	Shapes                              int
	HalfLife                            float64 // of the demand counts, in arrivals; 0 = none

	// UsageHalfLife is the time after which what a tenant held counts half in its
	// share; 0 = the past counts nothing.
	UsageHalfLife Span `json:",omitempty"`

	Limits PluginLimits
}

// PluginLimits are the bounds of a plugin that decide what it answers: memory in
// bytes, fuel in weighted units.
type PluginLimits struct {
	Memory, GoMemory     int64
	CallFuel, GoCallFuel int64
	SetupFuel, JobFuel   int64
	RowFuel, ShapeFuel   int64
}

// The failure rules of an Activation. None stands for RuleReject where the plugin
// filters, else for RuleFallback.
const (
	RuleFallback = "fallback"
	RuleReject   = "reject"
	RuleLastGood = "last-good"
)

// Activation puts one version of a plugin in force for a tenant's jobs, or as
// the cluster's policy, which stands under each tenant's.
type Activation struct {
	Tenant  TenantID // "" = the cluster's
	Plugin  string   // its name
	Version string
	Digest  string // sha256:hex of the module: what runs
	Params  map[string]string
	Weight  float64 // of its loss beside the base's; 0 = instead of it
	// OnFailure is one of the rules, or "".
	OnFailure string
	By        string // who put it in force

	Index       uint64 // of the event that put it in force
	Quarantined bool   // after too many faults: the failure rule decides
	Since       Time   `json:",omitempty"` // when it came into quarantine
}

// SchedulerSet puts a Scheduler in force.
type SchedulerSet struct{ Scheduler Scheduler }

// PolicySet puts an Activation in force; the one before is kept for a rollback.
// Its Index is the event's.
type PolicySet struct{ Activation Activation }

// PolicyRolledBack puts the activation before the present one in force, or none.
type PolicyRolledBack struct{ Tenant TenantID }

// PolicyCleared ends the policy of a tenant, or the cluster's, and forgets those
// before it.
type PolicyCleared struct{ Tenant TenantID }

// PolicyQuarantined sets or lifts the quarantine of the activation in force.
type PolicyQuarantined struct {
	Tenant      TenantID
	Quarantined bool
	Since       Time `json:",omitempty"` // 0 where it is lifted
}

// EventKind implements Body.
func (SchedulerSet) EventKind() string { return "scheduler-set" }

// EventKind implements Body.
func (PolicySet) EventKind() string { return "policy-set" }

// EventKind implements Body.
func (PolicyRolledBack) EventKind() string { return "policy-rolled-back" }

// EventKind implements Body.
func (PolicyCleared) EventKind() string { return "policy-cleared" }

// EventKind implements Body.
func (PolicyQuarantined) EventKind() string { return "policy-quarantined" }
