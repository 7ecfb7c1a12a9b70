package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Names of the records that are no jobs and no modules. A tenant's name follows; "" is
// what is for all.
const (
	tenantRecord  = "tenant/"
	pluginsRecord = "plugins/"
	tokensRecord  = "tokens/"
	clusterRecord = "clusters"
	tlsRecord     = "tls"
)

// homeTenant is the record of a tenant: its quotas, and what is in force for it.
type homeTenant struct {
	Tenant      *poise.Tenant      `json:",omitempty"` // nil for what is for all
	Activations []poise.Activation `json:",omitempty"` // the one in force last
}

// homePlugins are the plugins that a tenant has pushed. Their modules are records.
type homePlugins struct {
	Versions []store.VersionRow
	Tags     []store.TagRow
}

// homeClusters are the clusters that have joined.
type homeClusters struct {
	Kubes   []store.KubeRow
	Follows []store.Follow
}

// touches takes note of whose record an event changes.
func (m *mirror) touches(body poise.Body) {
	if m == nil {
		return
	}
	switch b := body.(type) {
	case poise.TenantSet:
		m.tenants[b.Tenant.ID] = true
	case poise.TenantRemoved:
		m.tenants[b.Tenant] = true
	case poise.PolicySet:
		m.tenants[b.Activation.Tenant] = true
	case poise.PolicyRolledBack:
		m.tenants[b.Tenant] = true
	case poise.PolicyCleared:
		m.tenants[b.Tenant] = true
	case poise.PolicyQuarantined:
		m.tenants[b.Tenant] = true
	}
}

// homeTenants gives the records of the tenants that have changed.
func (c *core) homeTenants() []change {
	m, p := c.mirror, c.loop.State().Policies()
	if m.all {
		for _, t := range p.Tenants() {
			m.tenants[t.ID] = true
		}
		for _, id := range p.Activated() {
			m.tenants[id] = true
		}
	}
	var out []change
	for _, id := range slices.Sorted(maps.Keys(m.tenants)) {
		r := homeTenant{Tenant: p.Tenant(id)}
		for _, a := range p.History(id) {
			if a.By != byConfiguration { // each replica has that itself
				kept := *a
				kept.Index = 0 // of this history
				r.Activations = append(r.Activations, kept)
			}
		}
		out = append(out, recordOf(kube.TenantRecord, tenantRecord+string(id), &r, r.Tenant == nil && len(r.Activations) == 0))
	}
	clear(m.tenants)
	return out
}

// recordOf gives the change that a record becomes this, or is dropped.
func recordOf(kind kube.RecordKind, name string, v any, drop bool) change {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: record %q cannot be written: %v", name, err))
	}
	return change{Record: kube.Record{Kind: kind, Name: name, Body: body}, drop: drop}
}

// takeTenants applies what the records say of tenants and policies and the state does
// not know. A tenant comes after the one that it is a part of.
func (c *core) takeTenants(records []kube.Record) error {
	left := map[poise.TenantID]*homeTenant{}
	for i := range records {
		id, ok := strings.CutPrefix(records[i].Name, tenantRecord)
		if !ok || records[i].Kind != kube.TenantRecord {
			continue
		}
		r := &homeTenant{}
		if err := readRecord(&records[i], r); err != nil {
			return err
		}
		left[poise.TenantID(id)] = r
	}
	var take func(id poise.TenantID) error
	take = func(id poise.TenantID) error {
		r := left[id]
		if r == nil {
			return nil
		}
		delete(left, id)
		now := c.loop.State().Policies()
		if r.Tenant != nil && now.Tenant(id) == nil {
			if err := take(r.Tenant.Parent); err != nil {
				return err
			}
			if err := c.event(poise.TenantSet{Tenant: *r.Tenant}); err != nil {
				return err
			}
		}
		if now.Activation(id) != nil {
			return nil
		}
		for i := range r.Activations {
			a := r.Activations[i]
			if err := c.event(poise.PolicySet{Activation: a}); err != nil {
				return err
			}
			if a.Quarantined {
				if err := c.event(poise.PolicyQuarantined{Tenant: id, Quarantined: true, Since: a.Since}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if err := take(id); err != nil {
			return err
		}
	}
	return nil
}
