package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/registry"
	"github.com/poise-sched/poise/host/store"
)

// findings are what is kept of a version beside its row: what its push found.
type findings struct {
	Description string
	Exports     []string
	Size        int
	Key         string // id of the key that signed it
	Checks      []client.PluginCheck
	Warnings    []string
}

// Plugins implements api.Plugins. A tenant sees its own versions and those that
// are for all.
func (d *Daemon) Plugins(ctx context.Context, tenant poise.TenantID, plugin string) ([]client.PluginVersion, error) {
	rows, err := d.versions(ctx, tenant, plugin)
	if err != nil {
		return nil, err
	}
	names, err := d.tags(ctx, rows)
	if err != nil {
		return nil, err
	}
	force, err := d.force(ctx)
	if err != nil {
		return nil, err
	}
	list := []client.PluginVersion{}
	for i := range rows {
		if tenant == "" && plugin != "" && rows[i].Plugin != plugin {
			continue
		}
		v, err := versionView(&rows[i], names)
		if err != nil {
			return nil, err
		}
		force.mark(&v, tenant)
		list = append(list, v)
	}
	return list, nil
}

// versions gives the rows that a tenant sees, its own first; "" sees all.
func (d *Daemon) versions(ctx context.Context, tenant poise.TenantID, plugin string) ([]store.VersionRow, error) {
	if tenant == "" {
		return d.store.AllVersions(ctx)
	}
	own, err := d.store.Versions(ctx, string(tenant), plugin)
	if err != nil {
		return nil, err
	}
	shared, err := d.store.Versions(ctx, "", plugin)
	return append(own, shared...), err
}

// tagged names a plugin's module.
type tagged struct{ tenant, plugin, digest string }

// tags gives the tags of versions.
func (d *Daemon) tags(ctx context.Context, rows []store.VersionRow) (map[tagged][]string, error) {
	names, read := map[tagged][]string{}, map[string]bool{}
	for i := range rows {
		if tenant := rows[i].Tenant; !read[tenant] {
			read[tenant] = true
			list, err := d.store.Tags(ctx, tenant)
			if err != nil {
				return nil, err
			}
			for _, t := range list {
				key := tagged{t.Tenant, t.Plugin, t.Digest}
				names[key] = append(names[key], t.Tag)
			}
		}
	}
	return names, nil
}

func versionView(r *store.VersionRow, names map[tagged][]string) (client.PluginVersion, error) {
	var f findings
	if err := json.Unmarshal(r.Body, &f); err != nil {
		return client.PluginVersion{}, fmt.Errorf("version %s of plugin %q: %w", r.Version, r.Plugin, err)
	}
	return client.PluginVersion{
		Plugin: r.Plugin, Version: r.Version, Digest: r.Digest, Tenant: r.Tenant, Tags: names[tagged{r.Tenant, r.Plugin, r.Digest}],
		Description: f.Description, Exports: f.Exports, Size: f.Size, Pushed: client.At(poise.Time(r.At)), By: r.By, Key: f.Key,
		Warnings: f.Warnings,
	}, nil
}

// resolve finds the version that a text names for a tenant: its own before one
// that is for all; "" is the cluster, which has only those.
func (d *Daemon) resolve(ctx context.Context, tenant poise.TenantID, text string) (store.VersionRow, error) {
	ref, err := registry.ParseRef(text)
	if err != nil {
		return store.VersionRow{}, err
	}
	owners := []string{string(tenant)}
	if tenant != "" {
		owners = append(owners, "")
	}
	known := 0
	for _, owner := range owners {
		rows, err := d.store.Versions(ctx, owner, ref.Plugin)
		if err != nil {
			return store.VersionRow{}, err
		}
		known += len(rows)
		digest := ref.Digest
		if ref.Tag != "" {
			tags, err := d.store.Tags(ctx, owner)
			if err != nil {
				return store.VersionRow{}, err
			}
			i := slices.IndexFunc(tags, func(t store.TagRow) bool { return t.Plugin == ref.Plugin && t.Tag == ref.Tag })
			if i < 0 {
				continue
			}
			digest = tags[i].Digest
		}
		var found []store.VersionRow
		for _, r := range rows {
			if (registry.Ref{Digest: digest}).Matches(r.Digest) && (ref.Version == "" || r.Version == ref.Version) {
				found = append(found, r)
			}
		}
		switch {
		case len(found) == 0:
		case ref.Digest != "" && slices.ContainsFunc(found, func(r store.VersionRow) bool { return r.Digest != found[0].Digest }):
			return store.VersionRow{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("plugin: %q, which is the beginning of several digests, expected more digits", text)}
		default:
			return found[0], nil // the latest
		}
	}
	detail := "no such version, expected one of poise plugin list"
	switch {
	case tenant == "":
		detail = "no such version among those for all tenants, expected one that was pushed for the cluster"
	case known == 0 && ref.Plugin != "":
		detail = "no such plugin, expected one of poise plugin list; poise plugin push adds one"
	}
	return store.VersionRow{}, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("plugin %q", text), Detail: detail}
}

// PullPlugin implements api.Plugins.
func (d *Daemon) PullPlugin(ctx context.Context, tenant poise.TenantID, text string) (client.PluginModule, error) {
	row, err := d.resolve(ctx, tenant, text)
	if err != nil {
		return client.PluginModule{}, err
	}
	bin, err := d.bytesOf(ctx, &row)
	if err != nil {
		return client.PluginModule{}, err
	}
	names, err := d.tags(ctx, []store.VersionRow{row})
	if err != nil {
		return client.PluginModule{}, err
	}
	v, err := versionView(&row, names)
	return client.PluginModule{Version: v, Module: bin, Signature: string(row.Signature)}, err
}

// bytesOf gives the module of a version, which is the one that was pushed.
func (d *Daemon) bytesOf(ctx context.Context, row *store.VersionRow) ([]byte, error) {
	bin, err := d.store.Module(ctx, row.Digest)
	is := digestOf(bin)
	switch {
	case poise.KindOf(err) == poise.NotFound:
		is = "none"
	case err != nil:
		return nil, err
	}
	if is != row.Digest {
		return nil, &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("plugin %q", row.Plugin+" "+row.Version), Detail: fmt.Sprintf(
			"module: %s, expected %s: the store has lost it, push the module again", is, row.Digest)}
	}
	return bin, nil
}

// DeletePlugin implements api.Plugins.
func (d *Daemon) DeletePlugin(ctx context.Context, tenant poise.TenantID, text string) error {
	ref, err := registry.ParseRef(text)
	if err != nil {
		return err
	}
	if ref.Version == "" && ref.Tag == "" && ref.Digest == "" {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("plugin: %q, expected a version of it: NAME@VERSION, NAME:TAG or NAME@sha256:DIGITS", text)}
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	row, err := d.resolve(ctx, tenant, text)
	if err != nil {
		return err
	}
	op := fmt.Sprintf("delete plugin %q", text)
	if row.Tenant != string(tenant) {
		return &poise.Error{Kind: poise.Denied, Op: op, Detail: "tenant: it is for all tenants, expected one of the tenant's own"}
	}
	force, err := d.force(ctx)
	if err != nil {
		return err
	}
	v := client.PluginVersion{Digest: row.Digest}
	switch force.mark(&v, tenant); {
	case v.Active:
		return &poise.Error{Kind: poise.Conflict, Op: op, Detail: "it is in force, expected another to be: poise plugin activate or deactivate"}
	case v.Before:
		return &poise.Error{Kind: poise.Conflict, Op: op, Detail: "it can be rolled back to, expected that to be over: poise plugin deactivate forgets what was in force before"}
	}
	if err := d.store.DeleteVersion(ctx, row.Tenant, row.Plugin, row.Version); err != nil {
		return err
	}
	if err := d.keepPlugins(ctx, row.Tenant); err != nil {
		return err
	}
	_, err = d.collect(ctx, row.Digest)
	return err
}

// CollectPlugins implements api.Plugins.
func (d *Daemon) CollectPlugins(ctx context.Context) (client.PluginsCollected, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.collect(ctx, "")
}

// collect removes the modules, or the one of a digest, that no version is of and
// that neither a policy nor a decision that can be made again needs. Nothing may
// come into force or be pushed meanwhile.
func (d *Daemon) collect(ctx context.Context, only string) (client.PluginsCollected, error) {
	var gone client.PluginsCollected
	needed, err := d.NeededModules(ctx)
	if err != nil {
		return gone, err
	}
	shadows, err := d.shadowModules(ctx)
	if err != nil {
		return gone, err
	}
	needed = append(needed, shadows...)
	rows, err := d.store.AllVersions(ctx)
	if err != nil {
		return gone, err
	}
	for i := range rows {
		needed = append(needed, rows[i].Digest)
	}
	modules, err := d.store.Modules(ctx)
	if err != nil {
		return gone, err
	}
	for _, m := range modules {
		if only != "" && m.Digest != only || slices.Contains(needed, m.Digest) {
			continue
		}
		if err := errors.Join(d.store.DeleteModule(ctx, m.Digest), d.dropModule(ctx, m.Digest)); err != nil {
			return gone, err
		}
		d.builder.Drop(m.Digest)
		gone.Modules++
		gone.Bytes += m.Bytes
	}
	return gone, nil
}
