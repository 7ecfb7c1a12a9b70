package apitest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// pushed is a version with its module.
type pushed struct {
	client.PluginVersion
	module []byte
}

// Plugins implements api.Plugins.
func (b *Backend) Plugins(_ context.Context, tenant poise.TenantID, plugin string) ([]client.PluginVersion, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	list := []client.PluginVersion{}
	for _, v := range b.plugins {
		if b.mayUse(tenant, &v) && (plugin == "" || v.Plugin == plugin) {
			list = append(list, v.PluginVersion)
		}
	}
	return list, nil
}

func (b *Backend) mayUse(tenant poise.TenantID, v *pushed) bool {
	return tenant == "" || v.Tenant == "" || v.Tenant == string(tenant)
}

// PushPlugin implements api.Plugins. What a module is stands in it: NAME@VERSION.
func (b *Backend) PushPlugin(_ context.Context, tenant poise.TenantID, p client.PluginPush, by string) (client.PluginVersion, error) {
	if err := b.begin(); err != nil {
		return client.PluginVersion{}, err
	}
	defer b.mu.Unlock()
	name, version, ok := strings.Cut(string(p.Module), "@")
	if !ok {
		return client.PluginVersion{}, &poise.Error{Kind: poise.Invalid, Op: "push", Detail: "module: no module, expected NAME@VERSION"}
	}
	v := client.PluginVersion{
		Plugin: name, Version: version, Tenant: string(tenant), Digest: fmt.Sprintf("sha256:%064x", len(b.plugins)), Exports: []string{"score"},
		Size: len(p.Module), Pushed: at, By: by,
	}
	if p.Tag != "" {
		v.Tags = []string{p.Tag}
	}
	b.plugins = append(b.plugins, pushed{v, p.Module})
	v.Checks = []client.PluginCheck{{Name: "deterministic", Outcome: "pass", Detail: "it is"}}
	return v, nil
}

// named finds a version; the lock is held.
func (b *Backend) named(tenant poise.TenantID, ref string) (int, error) {
	name, version, _ := strings.Cut(ref, "@")
	for i := len(b.plugins) - 1; i >= 0; i-- {
		if v := &b.plugins[i]; b.mayUse(tenant, v) && v.Plugin == name && (version == "" || v.Version == version) {
			return i, nil
		}
	}
	return 0, missing("plugin", ref)
}

// PullPlugin implements api.Plugins.
func (b *Backend) PullPlugin(_ context.Context, tenant poise.TenantID, ref string) (client.PluginModule, error) {
	if err := b.begin(); err != nil {
		return client.PluginModule{}, err
	}
	defer b.mu.Unlock()
	i, err := b.named(tenant, ref)
	if err != nil {
		return client.PluginModule{}, err
	}
	return client.PluginModule{Version: b.plugins[i].PluginVersion, Module: b.plugins[i].module}, nil
}

// DeletePlugin implements api.Plugins.
func (b *Backend) DeletePlugin(_ context.Context, tenant poise.TenantID, ref string) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	i, err := b.named(tenant, ref)
	if err != nil {
		return err
	}
	b.plugins = slices.Delete(b.plugins, i, i+1)
	return nil
}

// CollectPlugins implements api.Plugins.
func (b *Backend) CollectPlugins(context.Context) (client.PluginsCollected, error) {
	if err := b.begin(); err != nil {
		return client.PluginsCollected{}, err
	}
	defer b.mu.Unlock()
	return client.PluginsCollected{Modules: 2, Bytes: 4096}, nil
}

// Policy implements api.Plugins.
func (b *Backend) Policy(_ context.Context, tenant poise.TenantID) (client.PolicyStack, error) {
	if err := b.begin(); err != nil {
		return client.PolicyStack{}, err
	}
	defer b.mu.Unlock()
	return b.stack(tenant), nil
}

// stack is what is in force; the lock is held.
func (b *Backend) stack(tenant poise.TenantID) client.PolicyStack {
	s := client.PolicyStack{
		Tenant: string(tenant), Native: client.NativePolicy{Policy: "idle-balance", Ties: "name", ProtectDevices: true, Constants: map[string]float64{"beta": 0.375}},
		Layers: []client.PolicyLayer{},
	}
	for _, scope := range []poise.TenantID{"", tenant} {
		h := b.force[scope]
		if len(h) == 0 || scope == "" && tenant == "" && len(s.Layers) > 0 {
			continue
		}
		l := h[len(h)-1]
		for _, was := range slices.Backward(h[:len(h)-1]) {
			l.History = append(l.History, client.PolicyBefore{Plugin: was.Plugin, Version: was.Version, Digest: was.Digest, By: was.By})
		}
		s.Layers = append(s.Layers, l)
	}
	return s
}

// Activate implements api.Plugins.
func (b *Backend) Activate(_ context.Context, tenant poise.TenantID, spec client.ActivationSpec, by string) (client.PolicyStack, error) {
	if err := b.begin(); err != nil {
		return client.PolicyStack{}, err
	}
	defer b.mu.Unlock()
	i, err := b.named(tenant, spec.Plugin)
	if err != nil {
		return client.PolicyStack{}, err
	}
	v := &b.plugins[i]
	l := client.PolicyLayer{
		Scope: "tenant", Plugin: v.Plugin, Version: v.Version, Digest: v.Digest, Exports: v.Exports, Params: spec.Params, Weight: spec.Weight,
		OnFailure: "fallback", Rule: "while it fails, what is under it decides", By: by, Since: at,
		Limits: &client.LayerLimits{Memory: 4 << 20, Setup: 20_000_000, Call: 1_000_000, Job: 1_000_000, Row: 16_384, PerSecond: 200_000_000, Weight: 10},
	}
	if tenant == "" {
		l.Scope = "cluster"
	}
	b.force[tenant] = append(b.force[tenant], l)
	return b.stack(tenant), nil
}

// Rollback implements api.Plugins.
func (b *Backend) Rollback(_ context.Context, tenant poise.TenantID) (client.PolicyStack, error) {
	if err := b.begin(); err != nil {
		return client.PolicyStack{}, err
	}
	defer b.mu.Unlock()
	if len(b.force[tenant]) == 0 {
		return client.PolicyStack{}, missing("policy", string(tenant))
	}
	b.force[tenant] = b.force[tenant][:len(b.force[tenant])-1]
	return b.stack(tenant), nil
}

// Deactivate implements api.Plugins.
func (b *Backend) Deactivate(_ context.Context, tenant poise.TenantID) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	if len(b.force[tenant]) == 0 {
		return missing("policy", string(tenant))
	}
	delete(b.force, tenant)
	return nil
}
