package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// maxHistory is how many activations of a tenant are kept to roll back to.
const maxHistory = 16

// policies is what is in force: who the tenants are and how their jobs are
// ranked. It has no part in the columns.
type policies struct {
	scheduler *poise.Scheduler                       // nil before the first
	tenants   map[poise.TenantID]*poise.Tenant       // none = the default one only
	stacks    map[poise.TenantID][]*poise.Activation // "" is the cluster's; the last one is in force
}

func newPolicies() policies {
	return policies{tenants: map[poise.TenantID]*poise.Tenant{}, stacks: map[poise.TenantID][]*poise.Activation{}}
}

// Scheduler gives how nodes are ranked without a plugin, nil before it was set.
// It must not be changed.
func (s *State) Scheduler() *poise.Scheduler { return s.policies.scheduler }

// Activation gives the activation in force for a tenant, or the cluster's for "",
// or nil. It must not be changed.
func (s *State) Activation(tenant poise.TenantID) *poise.Activation {
	if stack := s.policies.stacks[tenant]; len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return nil
}

// History gives a tenant's activations, the one in force last. They must not be
// changed.
func (s *State) History(tenant poise.TenantID) []*poise.Activation {
	return slices.Clone(s.policies.stacks[tenant])
}

// Activated gives those that have an activation in force, sorted; the cluster is
// "".
func (s *State) Activated() []poise.TenantID {
	return slices.Sorted(maps.Keys(s.policies.stacks))
}

// Tenant gives what is known of a tenant, or nil. It must not be changed.
func (s *State) Tenant(id poise.TenantID) *poise.Tenant { return s.policies.tenants[id] }

// Tenants gives the tenants that were made known, by ID.
func (s *State) Tenants() []*poise.Tenant {
	all := slices.Collect(maps.Values(s.policies.tenants))
	slices.SortFunc(all, func(a, b *poise.Tenant) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// applyPolicy applies the events about policies and tenants. None of them
// changes a row.
func (s *State) applyPolicy(ev poise.Event) error {
	p := &s.policies
	switch b := ev.Body.(type) {
	case poise.SchedulerSet:
		if _, err := New(Settings{DemandHalfLife: b.Scheduler.HalfLife}); err != nil {
			return err
		}
		p.scheduler, s.demand.halfLife = &b.Scheduler, b.Scheduler.HalfLife
	case poise.PolicySet:
		return s.setPolicy(b.Activation, ev.Index)
	case poise.PolicyRolledBack:
		stack := p.stacks[b.Tenant]
		if len(stack) == 0 {
			return notFound("roll back", fmt.Sprintf("policy of tenant %q: none in force", b.Tenant))
		}
		p.keep(b.Tenant, stack[:len(stack)-1])
	case poise.PolicyCleared:
		if len(p.stacks[b.Tenant]) == 0 {
			return notFound("clear policy", fmt.Sprintf("policy of tenant %q: none in force", b.Tenant))
		}
		p.keep(b.Tenant, nil)
	case poise.PolicyQuarantined:
		now := s.Activation(b.Tenant)
		if now == nil {
			return notFound("quarantine", fmt.Sprintf("policy of tenant %q: none in force", b.Tenant))
		}
		changed := *now
		changed.Quarantined = b.Quarantined
		stack := slices.Clone(p.stacks[b.Tenant])
		stack[len(stack)-1] = &changed
		p.stacks[b.Tenant] = stack
	case poise.TenantSet:
		if err := b.Tenant.ID.Validate(); err != nil {
			return err
		}
		t := b.Tenant
		p.tenants[t.ID] = &t
	case poise.TenantRemoved:
		return s.removeTenant(b.Tenant)
	}
	return nil
}

func (s *State) setPolicy(a poise.Activation, index uint64) error {
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
	a.Index, a.Quarantined, a.Params = index, false, maps.Clone(a.Params)
	stack := append(slices.Clone(s.policies.stacks[a.Tenant]), &a)
	s.policies.keep(a.Tenant, stack[max(0, len(stack)-maxHistory):])
	return nil
}

func (p *policies) keep(tenant poise.TenantID, stack []*poise.Activation) {
	if len(stack) == 0 {
		delete(p.stacks, tenant)
		return
	}
	p.stacks[tenant] = slices.Clone(stack)
}

func (s *State) removeTenant(id poise.TenantID) error {
	if s.policies.tenants[id] == nil {
		return notFound("remove tenant", fmt.Sprintf("tenant %q: not known", id))
	}
	for _, j := range s.jobs {
		if j.Tenant == id {
			return conflict("remove tenant", fmt.Sprintf("tenant %q: has jobs that wait or run, expected none", id))
		}
	}
	delete(s.policies.tenants, id)
	s.policies.keep(id, nil)
	return nil
}

// PoliciesImage is what is in force, as plain data.
type PoliciesImage struct {
	Scheduler   *poise.Scheduler
	Tenants     []poise.Tenant
	Activations []poise.Activation // of each tenant in their order
}

func (p *policies) image() PoliciesImage {
	im := PoliciesImage{Scheduler: p.scheduler}
	for _, id := range slices.Sorted(maps.Keys(p.tenants)) {
		im.Tenants = append(im.Tenants, *p.tenants[id])
	}
	for _, id := range slices.Sorted(maps.Keys(p.stacks)) {
		for _, a := range p.stacks[id] {
			im.Activations = append(im.Activations, *a)
		}
	}
	return im
}

func (s *State) placePolicies(im *PoliciesImage) {
	p := &s.policies
	if p.scheduler = im.Scheduler; im.Scheduler != nil {
		s.demand.halfLife = im.Scheduler.HalfLife
	}
	for i := range im.Tenants {
		p.tenants[im.Tenants[i].ID] = &im.Tenants[i]
	}
	for i := range im.Activations {
		a := &im.Activations[i]
		p.stacks[a.Tenant] = append(p.stacks[a.Tenant], a)
	}
}
