package state

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// modelPool gives the model of a node's devices and its class, each with its mark.
func modelPool(n *modelNode) [2]string {
	pool := [2]string{poise.ModelMark + n.Devices.Model, poise.ClassMark}
	for _, l := range n.Labels {
		if l.Key == poise.ClassLabel {
			pool[1] += l.Value
		}
	}
	return pool
}

// setTenant takes over what is said of a tenant. None is above itself.
func (m *model) setTenant(t poise.Tenant) (kind poise.Kind, ok bool) {
	for above := t.Parent; above != ""; {
		parent, known := m.tenants[above]
		switch {
		case above == t.ID:
			return poise.Conflict, false
		case !known:
			return poise.NotFound, false
		}
		above = parent.Parent
	}
	m.tenants[t.ID] = t
	return 0, true
}

func (m *model) removeTenant(id poise.TenantID) (kind poise.Kind, ok bool) {
	for _, j := range m.jobs {
		if j.Tenant == id {
			return poise.Conflict, false
		}
	}
	if _, known := m.tenants[id]; !known {
		return poise.NotFound, false
	}
	for _, t := range m.tenants {
		if t.Parent == id {
			return poise.Conflict, false
		}
	}
	delete(m.tenants, id)
	return 0, true
}

// under says whether a tenant is another one or a part of it.
func (m *model) under(id, above poise.TenantID) bool {
	for id != "" && id != above {
		id = m.tenants[id].Parent
	}
	return id == above
}

// pools gives the pools that quotas name, each with what the fleet has there and what
// tenants hold.
func (m *model) pools(tenants []poise.TenantID) string {
	var text strings.Builder
	for _, name := range poolNames {
		named := false
		for _, t := range m.tenants {
			named = named || t.Quota(name) != nil
		}
		if !named {
			continue
		}
		at := strings.IndexAny(name, poise.ModelMark+poise.ClassMark)
		resource, mark := name[:at], name[at:]
		in := func(pool [2]string) bool { return mark == pool[0] || mark == pool[1] }
		amount := func(r *poise.Request) int64 {
			if r.Device.Kind == resource {
				return r.Device.Total()
			}
			a, _ := r.Amounts.Find(resource)
			return a
		}
		total := new(big.Int)
		for _, n := range m.nodes {
			if !in(modelPool(n)) {
				continue
			}
			a, _ := n.Capacity.Find(resource)
			if n.Devices.Kind == resource {
				a = int64(n.Devices.Count) * poise.WholeDevice
			}
			total.Add(total, big.NewInt(a))
		}
		fmt.Fprintf(&text, "%s %d:", name, clamped(total))
		for _, id := range tenants {
			used := new(big.Int)
			for _, j := range m.jobs {
				if m.stays(j) && in(j.on.pool) && m.under(j.Tenant, id) {
					used.Add(used, big.NewInt(amount(&j.Request)))
				}
			}
			fmt.Fprintf(&text, " %s %d", id, clamped(used))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// stays says whether a job runs on a node that has not left since.
func (m *model) stays(j *modelJob) bool {
	return j.on != nil && m.nodes[j.on.node] != nil && m.nodes[j.on.node].incarnation == j.on.incarnation
}

// poolNames are the pools that tenants of the machine may have quotas of.
var poolNames = []string{"gpu/H100", "gpu/A100", "gpu@big", "cpu@big"}

func (s *State) poolText(tenants []poise.TenantID) string {
	var text strings.Builder
	for _, name := range poolNames {
		named := false
		for _, t := range s.policies.Tenants() {
			named = named || t.Quota(name) != nil
		}
		if !named {
			continue
		}
		fmt.Fprintf(&text, "%s %d:", name, s.Total(name))
		for _, id := range tenants {
			fmt.Fprintf(&text, " %s %d", id, s.Used(id, name))
		}
		text.WriteByte('\n')
	}
	return text.String()
}
