package state

import (
	"math/bits"

	"github.com/poise-sched/poise/host/poise"
)

// sum adds up amounts without overflow: a number of 128 bits.
type sum struct {
	hi int64
	lo uint64
}

func (s *sum) add(v int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += v>>63 + int64(carry)
}

// amount gives the sum, or the nearest int64.
func (s *sum) amount() int64 {
	switch {
	case s == nil:
		return 0
	case s.hi == int64(s.lo)>>63:
		return int64(s.lo)
	case s.hi < 0:
		return -1 << 63
	}
	return 1<<63 - 1
}

func (s *sum) float() float64 { return float64(float64(s.hi)*(1<<64)) + float64(s.lo) }

// usage is what the fleet has and what tenants hold of it, by resource: a
// dimension in base units, a kind of device in milli-devices. A tenant that is
// another's parent holds what that one does as well.
type usage struct {
	total   map[string]*sum
	own     map[poise.TenantID]map[string]*sum // by the tenant's own tasks
	tenants map[poise.TenantID]map[string]*sum // and by those of the tenants under it
	known   map[shareOf]share                  // worked out since anything in it changed
	pools   pools
	past    past
}

// shareOf names a share: a tenant's with or without those under it.
type shareOf struct {
	tenant poise.TenantID
	own    bool
}

type share struct {
	part     float64
	resource string
}

func newUsage() usage {
	return usage{total: map[string]*sum{}, own: map[poise.TenantID]map[string]*sum{}, tenants: map[poise.TenantID]map[string]*sum{}, known: map[shareOf]share{}, pools: newPools()}
}

// Total is what the present nodes have of a resource together.
func (s *State) Total(resource string) int64 {
	return both(s.usage.total[resource], s.usage.pools.total[resource])
}

// Used is what a tenant's tasks hold of a resource, with those of the tenants
// under it.
func (s *State) Used(tenant poise.TenantID, resource string) int64 {
	return both(s.usage.tenants[tenant][resource], s.usage.pools.tenants[tenant][resource])
}

// Share gives a tenant's dominant share: the largest part, from 0 on, that it
// holds of any resource of the fleet, and which resource that is (Ghodsi et al.,
// Dominant Resource Fairness, NSDI 2011, section 4.1). A resource that the fleet
// has no more of counts as held whole. Of equal parts the first name counts.
func (s *State) Share(tenant poise.TenantID) (part float64, resource string) {
	return s.usage.share(shareOf{tenant: tenant})
}

// OwnShare is Share without what the tenants under it hold.
func (s *State) OwnShare(tenant poise.TenantID) (part float64, resource string) {
	return s.usage.share(shareOf{tenant: tenant, own: true})
}

func (u *usage) share(of shareOf) (float64, string) {
	if s, ok := u.known[of]; ok {
		return s.part, s.resource
	}
	held := u.held(of)
	var most share
	for name, used := range held {
		amount := used.float()
		if amount == 0 {
			continue
		}
		part := 1.0
		if t := u.total[name]; t != nil && t.float() > 0 {
			part = amount / t.float()
		}
		if part > most.part || part == most.part && (most.resource == "" || name < most.resource) {
			most = share{part, name}
		}
	}
	u.known[of] = most
	return most.part, most.resource
}

func into(sums map[string]*sum, name string, v int64) {
	if v == 0 {
		return
	}
	s := sums[name]
	if s == nil {
		s = &sum{}
		sums[name] = s
	}
	s.add(v)
}

// count adds what the row's node has to the total, or takes it away.
func (s *State) count(row uint32, sign int64) {
	clear(s.usage.known)
	for d, name := range s.live.dims {
		into(s.usage.total, name, sign*s.live.Capacity(row, d))
	}
	if kind := s.live.kinds[s.live.Kind(row)]; kind != "" {
		into(s.usage.total, kind, sign*int64(s.live.Devices(row))*poise.WholeDevice)
	}
	s.countPools(row, sign)
}

// charge adds what a task holds to its tenant and to those above it, or takes it
// away.
func (s *State) charge(t *Task, sign int64) {
	s.usage.accrue(shareOf{tenant: t.Tenant, own: true})
	hold(s.usage.own, t, t.Tenant, sign)
	delete(s.usage.known, shareOf{tenant: t.Tenant, own: true})
	for id := t.Tenant; ; {
		delete(s.usage.known, shareOf{tenant: id})
		s.usage.accrue(shareOf{tenant: id})
		hold(s.usage.tenants, t, id, sign)
		s.holdPools(t, id, sign)
		known := s.policies.tenants[id]
		if known == nil || known.Parent == "" {
			return
		}
		id = known.Parent
	}
}

func hold(held map[poise.TenantID]map[string]*sum, t *Task, id poise.TenantID, sign int64) {
	sums := held[id]
	if sums == nil {
		sums = map[string]*sum{}
		held[id] = sums
	}
	r := &t.Shape.Request
	for _, a := range r.Amounts {
		into(sums, a.Name, sign*a.Value)
	}
	if r.Device.Count > 0 {
		into(sums, r.Device.Kind, sign*r.Device.Total())
	}
}

// recharge counts anew what tenants hold.
func (s *State) recharge() {
	s.regroup()
	clear(s.usage.known)
	s.usage.own, s.usage.tenants = map[poise.TenantID]map[string]*sum{}, map[poise.TenantID]map[string]*sum{}
	clear(s.usage.pools.tenants)
	for _, j := range s.jobs {
		if t := j.task; t != nil && s.live.Present(t.row) && s.live.Incarnation(t.row) == t.incarnation {
			s.charge(t, 1)
		}
	}
}
