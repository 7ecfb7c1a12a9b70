package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// maxHistory is how many activations of a tenant are kept to roll back to.
const maxHistory = 16

// Policies is what is in force: who the tenants are and how their jobs are
// ranked. It has no part in the columns. Those that State.Policies gave never
// change; Clone gives some that may.
type Policies struct {
	scheduler *poise.Scheduler                       // nil before the first
	tenants   map[poise.TenantID]*poise.Tenant       // none = the default one only
	stacks    map[poise.TenantID][]*poise.Activation // "" is the cluster's; the last one is in force
	nested    bool                                   // some tenant has a parent
	quotas    bool                                   // some tenant has a quota
	pools     []string                               // resources of quotas that may be of a pool, sorted
}

// NewPolicies gives policies with nothing in force.
func NewPolicies() *Policies {
	return &Policies{tenants: map[poise.TenantID]*poise.Tenant{}, stacks: map[poise.TenantID][]*poise.Activation{}}
}

// Policies gives what is in force now, for keeping.
func (s *State) Policies() *Policies { return s.policies }

// Clone gives policies that Apply may change.
func (p *Policies) Clone() *Policies {
	return &Policies{scheduler: p.scheduler, tenants: maps.Clone(p.tenants), stacks: maps.Clone(p.stacks), nested: p.nested, quotas: p.quotas, pools: p.pools}
}

// Scheduler gives how nodes are ranked without a plugin, nil before it was set.
// It must not be changed.
func (p *Policies) Scheduler() *poise.Scheduler { return p.scheduler }

// Activation gives the activation in force for a tenant, or the cluster's for "",
// or nil. It must not be changed.
func (p *Policies) Activation(tenant poise.TenantID) *poise.Activation {
	if stack := p.stacks[tenant]; len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return nil
}

// History gives a tenant's activations, the one in force last. They must not be
// changed.
func (p *Policies) History(tenant poise.TenantID) []*poise.Activation {
	return slices.Clone(p.stacks[tenant])
}

// Activated gives those that have an activation in force, sorted; the cluster is
// "".
func (p *Policies) Activated() []poise.TenantID {
	return slices.Sorted(maps.Keys(p.stacks))
}

// Tenant gives what is known of a tenant, or nil. It must not be changed.
func (p *Policies) Tenant(id poise.TenantID) *poise.Tenant { return p.tenants[id] }

// Nested says whether some tenant is part of another.
func (p *Policies) Nested() bool { return p.nested }

// Guarantees says whether some tenant has a quota.
func (p *Policies) Guarantees() bool { return p.quotas }

// Tenants gives the tenants that were made known, by ID.
func (p *Policies) Tenants() []*poise.Tenant {
	all := slices.Collect(maps.Values(p.tenants))
	slices.SortFunc(all, func(a, b *poise.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Apply applies an event about policies or tenants; another kind changes
// nothing. An event that does not apply gives a poise.Error and leaves all as it
// was.
func (p *Policies) Apply(ev poise.Event) error {
	switch b := ev.Body.(type) {
	case poise.SchedulerSet:
		if _, err := New(Settings{DemandHalfLife: b.Scheduler.HalfLife, UsageHalfLife: b.Scheduler.UsageHalfLife}); err != nil {
			return err
		}
		p.scheduler = &b.Scheduler
	case poise.PolicySet:
		return p.set(b.Activation, ev.Index)
	case poise.PolicyRolledBack:
		stack := p.stacks[b.Tenant]
		if len(stack) == 0 {
			return noPolicy("roll back", b.Tenant)
		}
		p.keep(b.Tenant, stack[:len(stack)-1])
	case poise.PolicyCleared:
		if len(p.stacks[b.Tenant]) == 0 {
			return noPolicy("clear policy", b.Tenant)
		}
		p.keep(b.Tenant, nil)
	case poise.PolicyQuarantined:
		now := p.Activation(b.Tenant)
		if now == nil {
			return noPolicy("quarantine", b.Tenant)
		}
		changed := *now
		changed.Quarantined, changed.Since = b.Quarantined, b.Since
		stack := slices.Clone(p.stacks[b.Tenant])
		stack[len(stack)-1] = &changed
		p.stacks[b.Tenant] = stack
	case poise.TenantSet:
		return p.setTenant(b.Tenant)
	case poise.TenantRemoved:
		if p.tenants[b.Tenant] == nil {
			return notFound("remove tenant", fmt.Sprintf("tenant %q: not known", b.Tenant))
		}
		for _, t := range p.Tenants() {
			if t.Parent == b.Tenant {
				return conflict("remove tenant", fmt.Sprintf("tenant %q: parent of %q, expected none under it", b.Tenant, t.ID))
			}
		}
		delete(p.tenants, b.Tenant)
		p.keep(b.Tenant, nil)
		p.survey()
	}
	return nil
}

// setTenant makes a tenant known. Its parent is known, and none of those above
// it is the tenant itself.
func (p *Policies) setTenant(t poise.Tenant) error {
	if err := t.Validate(); err != nil {
		return err
	}
	for above := t.Parent; above != ""; above = p.tenants[above].Parent {
		if above == t.ID {
			return conflict("set tenant", fmt.Sprintf("tenant %q: parent %q is under it, expected one that is not", t.ID, t.Parent))
		}
		if p.tenants[above] == nil {
			return notFound("set tenant", fmt.Sprintf("tenant %q: parent %q is not known", t.ID, above))
		}
	}
	p.tenants[t.ID] = &t
	p.survey()
	return nil
}

// survey works out what most installations do not have, so that they do not pay
// for it.
func (p *Policies) survey() {
	p.nested, p.quotas, p.pools = false, false, nil
	for _, t := range p.tenants {
		p.nested = p.nested || t.Parent != ""
		p.quotas = p.quotas || len(t.Quotas) > 0
		for i := range t.Quotas {
			if name := t.Quotas[i].Resource; strings.Contains(name, poise.ModelMark) || strings.Contains(name, poise.ClassMark) {
				p.pools = append(p.pools, name)
			}
		}
	}
	slices.Sort(p.pools)
	p.pools = slices.Compact(p.pools)
}

func noPolicy(op string, tenant poise.TenantID) error {
	if tenant == "" {
		return notFound(op, "policy of the cluster: none in force")
	}
	return notFound(op, fmt.Sprintf("policy of tenant %q: none in force", tenant))
}

func (p *Policies) set(a poise.Activation, index uint64) error {
	refuse := func(detail string) error {
		return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("activate plugin %q", a.Plugin), Detail: detail}
	}
	if a.Tenant != "" {
		if err := a.Tenant.Validate(); err != nil {
			return err
		}
	}
	if a.Plugin == "" || a.Digest == "" {
		return refuse("plugin and digest: one is empty, expected both")
	}
	if !(a.Weight >= 0 && a.Weight <= 1e6) {
		return refuse(fmt.Sprintf("weight: %v, expected 0 to 1e6", a.Weight))
	}
	switch a.OnFailure {
	case "", poise.RuleFallback, poise.RuleReject, poise.RuleLastGood:
	default:
		return refuse(fmt.Sprintf("on failure: %q, expected %s, %s or %s", a.OnFailure, poise.RuleFallback, poise.RuleReject, poise.RuleLastGood))
	}
	a.Index, a.Quarantined, a.Since, a.Params = index, false, 0, maps.Clone(a.Params)
	stack := append(slices.Clone(p.stacks[a.Tenant]), &a)
	p.keep(a.Tenant, stack[max(0, len(stack)-maxHistory):])
	return nil
}

func (p *Policies) keep(tenant poise.TenantID, stack []*poise.Activation) {
	if len(stack) == 0 {
		delete(p.stacks, tenant)
		return
	}
	p.stacks[tenant] = slices.Clone(stack)
}

// applyPolicy applies the events about policies and tenants. None of them
// changes a row.
func (s *State) applyPolicy(ev poise.Event) error {
	if b, ok := ev.Body.(poise.TenantRemoved); ok {
		for _, j := range s.jobs {
			if j.Tenant == b.Tenant {
				return conflict("remove tenant", fmt.Sprintf("tenant %q: has jobs that wait or run, expected none", b.Tenant))
			}
		}
	}
	next := s.policies.Clone()
	if err := next.Apply(ev); err != nil {
		return err
	}
	if s.policies = next; next.scheduler != nil {
		s.demand.halfLife = next.scheduler.HalfLife
		s.usage.setHalfLife(next.scheduler.UsageHalfLife)
	}
	if b, ok := ev.Body.(poise.TenantRemoved); ok {
		s.forgetPast(b.Tenant)
	}
	if _, ok := ev.Body.(poise.TenantSet); ok {
		s.recharge() // it may have another parent, and quotas of other pools
		s.recount()
	}
	return nil
}

// PoliciesImage is what is in force, as plain data.
type PoliciesImage struct {
	Scheduler   *poise.Scheduler
	Tenants     []poise.Tenant
	Activations []poise.Activation // of each tenant in their order
}

func (p *Policies) image() PoliciesImage {
	im := PoliciesImage{Scheduler: p.scheduler}
	for _, t := range p.Tenants() {
		im.Tenants = append(im.Tenants, *t)
	}
	for _, id := range p.Activated() {
		for _, a := range p.stacks[id] {
			im.Activations = append(im.Activations, *a)
		}
	}
	return im
}

func (s *State) placePolicies(im *PoliciesImage) {
	p := NewPolicies()
	if p.scheduler = im.Scheduler; im.Scheduler != nil {
		s.demand.halfLife = im.Scheduler.HalfLife
	}
	for i := range im.Tenants {
		p.tenants[im.Tenants[i].ID] = &im.Tenants[i]
	}
	p.survey()
	for i := range im.Activations {
		a := &im.Activations[i]
		p.stacks[a.Tenant] = append(p.stacks[a.Tenant], a)
	}
	s.policies = p
}
