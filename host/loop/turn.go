package loop

import (
	"cmp"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
)

// candidate is a tenant that has a job to plan.
type candidate struct {
	list *list
	head queue.Head
}

// turn picks the tenant whose turn it is: fair share orders tenants, and each
// orders its own jobs. Of the tenants under one parent the one with the smallest
// dominant share, divided by its weight, goes first (weighted DRF; Ghodsi et al.,
// NSDI 2011, sections 4.1 and 4.3), and the same again among those under it. A
// parent's own jobs stand beside the tenants under it, with what they hold
// themselves. A tenant that stays within its guarantee goes before one that does
// not. Equal shares go by the order of the jobs. depth is how many parents
// all of the candidates have in common.
func (l *Loop) turn(ready []candidate, depth int) candidate {
	if len(ready) == 1 {
		return ready[0]
	}
	if !l.state.Policies().Nested() {
		best, least := ready[0], l.rank(ready[0], ready[0].list.tenant, false)
		for _, c := range ready[1:] {
			r := l.rank(c, c.list.tenant, false)
			if order := r.compare(least); order < 0 || order == 0 && c.head.Before(best.head) {
				best, least = c, r
			}
		}
		return best
	}
	type place struct {
		id  poise.TenantID
		own bool
	}
	groups := map[place][]candidate{}
	for _, c := range ready {
		id, own := l.above(c.list.tenant, depth)
		groups[place{id, own}] = append(groups[place{id, own}], c)
	}
	var best candidate
	var least rank
	for at, group := range groups {
		c := l.turn(group, depth+1)
		r := l.rank(c, at.id, at.own)
		if order := r.compare(least); best.list == nil || order < 0 || order == 0 && c.head.Before(best.head) {
			best, least = c, r
		}
	}
	return best
}

// rank is what tenants under one parent are ordered by.
type rank struct {
	borrows bool // it would hold more than it is guaranteed
	share   float64
}

func (r rank) compare(other rank) int {
	if r.borrows != other.borrows {
		if other.borrows {
			return -1
		}
		return 1
	}
	return cmp.Compare(r.share, other.share)
}

func (l *Loop) rank(c candidate, id poise.TenantID, own bool) rank {
	r := rank{borrows: true, share: l.share(id, own)}
	if !own && l.state.Policies().Guarantees() {
		r.borrows = !l.state.Within(id, Asks(l.state, l.state.Job(c.head.Job())))
	}
	return r
}

// above gives the tenant at a depth above a tenant, 0 = at the top; own says that
// it is the tenant itself with tenants under it, by its own jobs.
func (l *Loop) above(tenant poise.TenantID, depth int) (id poise.TenantID, own bool) {
	in := l.state.Policies()
	height := 0
	for t := in.Tenant(tenant); t != nil && t.Parent != ""; t = in.Tenant(t.Parent) {
		height++
	}
	if depth > height {
		return tenant, true
	}
	id = tenant
	for range height - depth {
		id = in.Tenant(id).Parent
	}
	return id, false
}

// share gives a tenant's dominant share, with what it held in the past where that
// counts, divided by its weight.
func (l *Loop) share(id poise.TenantID, own bool) float64 {
	if own {
		s, _ := l.state.OwnShare(id)
		return s + l.state.PastShare(id, true)
	}
	s, _ := l.state.Share(id)
	s += l.state.PastShare(id, false)
	if t := l.state.Policies().Tenant(id); t != nil && t.Weight > 0 {
		s /= t.Weight
	}
	return s
}
