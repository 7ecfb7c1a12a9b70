package state

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// OverQuota says what keeps a job from being placed wherever it might fit, nil
// for nothing. Only the resources that it asks for count.
//
// Along the tenants above the job, each stays within its limit. Among tenants of
// one parent, what one leaves idle of its guarantee may be held by others but for
// the reserved part: all together hold at most what the fleet has less what
// is withheld so for others.
func (s *State) OverQuota(j *Job) *poise.QuotaMiss {
	if !s.policies.quotas {
		return nil
	}
	r := &j.Shape.Request
	for _, a := range r.Amounts {
		if miss := s.overQuota(j.Tenant, a.Name, a.Value); miss != nil {
			return miss
		}
	}
	if r.Device.Count > 0 {
		return s.overQuota(j.Tenant, r.Device.Kind, r.Device.Total())
	}
	return nil
}

func (s *State) overQuota(tenant poise.TenantID, name string, ask int64) *poise.QuotaMiss {
	if ask == 0 {
		return nil
	}
	for id := tenant; ; {
		t, used := s.policies.tenants[id], s.Used(id, name)
		if t != nil {
			if q := t.Quota(name); q != nil && q.Limit > 0 && used > q.Limit-ask {
				return &poise.QuotaMiss{Tenant: id, Resource: name, Used: used, Ask: ask, Limit: q.Limit}
			}
		}
		if t == nil || t.Parent == "" {
			return s.withheld(id, name, used, ask)
		}
		id = t.Parent
	}
}

// withheld checks a tenant without a parent against what the others of that kind
// have reserved.
func (s *State) withheld(id poise.TenantID, name string, used, ask int64) *poise.QuotaMiss {
	var kept sum
	for _, other := range s.policies.tenants {
		if other.ID == id || other.Parent != "" {
			continue
		}
		if q := other.Quota(name); q != nil && q.Reserved > 0 {
			kept.add(min(q.Reserved, max(0, q.Guaranteed-s.Used(other.ID, name))))
		}
	}
	if kept == (sum{}) {
		return nil
	}
	var all sum
	for other := range s.usage.tenants {
		if t := s.policies.tenants[other]; t == nil || t.Parent == "" {
			all.add(s.Used(other, name))
		}
	}
	total := s.Total(name)
	left := max(0, total-kept.amount())
	all.add(ask)
	if all.amount() <= left {
		return nil
	}
	if t := s.policies.tenants[id]; t != nil {
		if q := t.Quota(name); q != nil && used <= q.Guaranteed-ask {
			return nil // within its own guarantee it goes first
		}
	}
	return &poise.QuotaMiss{Tenant: id, Resource: name, Used: used, Ask: ask, Limit: left, Withheld: kept.amount()}
}

// Within says whether a tenant, with the job's request, holds no more than what
// it is guaranteed of each resource that the job asks for. One without a
// guarantee does not.
func (s *State) Within(tenant poise.TenantID, j *Job) bool {
	t := s.policies.tenants[tenant]
	if t == nil || len(t.Quotas) == 0 {
		return false
	}
	r := &j.Shape.Request
	within := func(name string, ask int64) bool {
		if ask == 0 {
			return true
		}
		q := t.Quota(name)
		if q == nil {
			q = poolQuota(t, j.Shape, name)
		}
		return q != nil && s.Used(tenant, q.Resource) <= q.Guaranteed-ask-s.claimed(tenant, j, name)
	}
	for _, a := range r.Amounts {
		if !within(a.Name, a.Value) {
			return false
		}
	}
	return r.Device.Count == 0 || within(r.Device.Kind, r.Device.Total())
}

// QuotaWarnings says what of the quotas cannot hold now: a tenant holds more than
// its limit, or more is guaranteed than the fleet has. Neither is an error: what
// runs goes on.
func (s *State) QuotaWarnings() []string {
	var warnings []string
	guaranteed, order := map[string]*sum{}, []string{}
	for _, t := range s.policies.Tenants() {
		for i := range t.Quotas {
			q := &t.Quotas[i]
			if used := s.Used(t.ID, q.Resource); q.Limit > 0 && used > q.Limit {
				warnings = append(warnings, fmt.Sprintf("tenant %q holds %s of %s, more than its limit of %s: nothing is stopped, nothing more is placed",
					t.ID, resource.Format(q.Resource, used), q.Resource, resource.Format(q.Resource, q.Limit)))
			}
			if guaranteed[q.Resource] == nil {
				guaranteed[q.Resource] = &sum{}
				order = append(order, q.Resource)
			}
			if t.Parent == "" {
				guaranteed[q.Resource].add(q.Guaranteed)
			}
		}
	}
	for _, name := range order {
		all, has := guaranteed[name].amount(), s.Total(name)
		if has == 0 && slices.Contains(s.policies.pools, name) {
			warnings = append(warnings, fmt.Sprintf("%s: no node has it, expected a device model or a class of the fleet", name))
		}
		if all > has {
			warnings = append(warnings, fmt.Sprintf("%s: %s are guaranteed, the fleet has %s: not all guarantees can hold at once",
				name, resource.Format(name, all), resource.Format(name, has)))
		}
	}
	return warnings
}
