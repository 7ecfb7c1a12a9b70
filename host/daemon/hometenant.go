package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/cert"
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

// keepTokens has a tenant's tokens at home as the store has them.
func (d *Daemon) keepTokens(ctx context.Context, tenant string) error {
	if d.home == nil {
		return nil
	}
	rows, err := d.store.Tokens(ctx, tenant)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r store.TokenRow) bool { return r.Tenant != tenant })
	return d.home.keep(ctx, recordOf(kube.SecretRecord, tokensRecord+tenant, rows, len(rows) == 0))
}

// keepPlugins has a tenant's plugins at home as the store has them, their modules
// first.
func (d *Daemon) keepPlugins(ctx context.Context, tenant string) error {
	if d.home == nil {
		return nil
	}
	var r homePlugins
	var err error
	if r.Versions, err = d.store.Versions(ctx, tenant, ""); err != nil {
		return err
	}
	if r.Tags, err = d.store.Tags(ctx, tenant); err != nil {
		return err
	}
	for i := range r.Versions {
		if err := d.keepModule(ctx, r.Versions[i].Digest); err != nil {
			return err
		}
	}
	return d.home.keep(ctx, recordOf(kube.TenantRecord, pluginsRecord+tenant, &r, len(r.Versions) == 0))
}

// keepModule has a module at home.
func (d *Daemon) keepModule(ctx context.Context, digest string) error {
	if d.home.knows(kube.ModuleRecord, digest) {
		return nil
	}
	body, err := d.store.Module(ctx, digest)
	if err != nil {
		return err
	}
	return d.home.keep(ctx, change{Record: kube.Record{Kind: kube.ModuleRecord, Name: digest, Body: body}})
}

// dropModule has a module at home no more.
func (d *Daemon) dropModule(ctx context.Context, digest string) error {
	if d.home == nil {
		return nil
	}
	return d.home.keep(ctx, change{Record: kube.Record{Kind: kube.ModuleRecord, Name: digest}, drop: true})
}

// keepClusters has the joined clusters at home as the store has them.
func (d *Daemon) keepClusters(ctx context.Context) error {
	if d.home == nil {
		return nil
	}
	var r homeClusters
	var err error
	if r.Kubes, err = d.store.Kubes(ctx); err != nil {
		return err
	}
	if r.Follows, err = d.store.Follows(ctx); err != nil {
		return err
	}
	return d.home.keep(ctx, recordOf(kube.TenantRecord, clusterRecord, &r, false))
}

// keepTables has all of the store's tables at home.
func (d *Daemon) keepTables(ctx context.Context) error {
	if err := errors.Join(d.keepClusters(ctx), d.keepKeys(ctx)); err != nil {
		return err
	}
	tenants := map[string]bool{"": true, string(poise.DefaultTenant): true}
	for _, t := range d.core.loop.State().Policies().Tenants() {
		tenants[string(t.ID)] = true
	}
	for _, t := range slices.Sorted(maps.Keys(tenants)) {
		if err := errors.Join(d.keepTokens(ctx, t), d.keepPlugins(ctx, t)); err != nil {
			return err
		}
	}
	return nil
}

// takeTables brings into the store what it lacks of the records.
func (d *Daemon) takeTables(ctx context.Context, records []kube.Record) error {
	for i := range records {
		r := &records[i]
		var err error
		switch {
		case r.Kind == kube.ModuleRecord:
			err = d.store.PutModule(ctx, r.Name, r.Body)
		case strings.HasPrefix(r.Name, tokensRecord):
			err = d.takeTokens(ctx, r)
		case r.Name == clusterRecord:
			err = d.takeClusters(ctx, r)
		case r.Name == tlsRecord:
			err = d.takeKeys(r)
		}
		if err != nil {
			return fmt.Errorf("take over %s record %q: %w", r.Kind, r.Name, err)
		}
	}
	for i := range records { // their modules are there now
		if strings.HasPrefix(records[i].Name, pluginsRecord) {
			if err := d.takePlugins(ctx, &records[i]); err != nil {
				return fmt.Errorf("take over record %q: %w", records[i].Name, err)
			}
		}
	}
	return nil
}

// keepKeys has at home what callers know a self-made certificate by.
func (d *Daemon) keepKeys(ctx context.Context) error {
	c := &d.options.Config.Current().Config
	if !c.API.TLS.SelfSigned {
		return nil
	}
	keys, err := cert.Keys(certificates(c))
	if err != nil {
		return err
	}
	return d.home.keep(ctx, recordOf(kube.SecretRecord, tlsRecord, keys, false))
}

// takeKeys takes over what callers know a self-made certificate by.
func (d *Daemon) takeKeys(r *kube.Record) error {
	c := &d.options.Config.Current().Config
	if !c.API.TLS.SelfSigned {
		return nil
	}
	var keys map[string][]byte
	if err := readRecord(r, &keys); err != nil {
		return err
	}
	return cert.TakeKeys(certificates(c), keys)
}

func (d *Daemon) takeTokens(ctx context.Context, r *kube.Record) error {
	var rows []store.TokenRow
	if err := readRecord(r, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := d.store.Token(ctx, row.ID); poise.KindOf(err) != poise.NotFound || err == nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := d.store.PutToken(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

func (d *Daemon) takePlugins(ctx context.Context, r *kube.Record) error {
	var p homePlugins
	if err := readRecord(r, &p); err != nil {
		return err
	}
	slices.SortStableFunc(p.Versions, func(a, b store.VersionRow) int { return cmp.Compare(a.At, b.At) })
	for _, v := range p.Versions {
		module, err := d.store.Module(ctx, v.Digest)
		if err != nil {
			return err
		}
		tag := slices.IndexFunc(p.Tags, func(t store.TagRow) bool { return t.Plugin == v.Plugin && t.Digest == v.Digest })
		if tag < 0 {
			err = d.store.PutVersion(ctx, v, module, "")
		}
		for ; tag >= 0 && tag < len(p.Tags) && err == nil; tag++ {
			if t := &p.Tags[tag]; t.Plugin == v.Plugin && t.Digest == v.Digest {
				err = d.store.PutVersion(ctx, v, module, t.Tag)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Daemon) takeClusters(ctx context.Context, r *kube.Record) error {
	var all homeClusters
	if err := readRecord(r, &all); err != nil {
		return err
	}
	for _, k := range all.Kubes {
		if err := d.store.PutKube(ctx, k); err != nil {
			return err
		}
	}
	for _, f := range all.Follows {
		if err := d.store.PutFollow(ctx, f); err != nil {
			return err
		}
	}
	return nil
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
