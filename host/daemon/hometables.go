package daemon

import (
	"cmp"
	"context"
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
