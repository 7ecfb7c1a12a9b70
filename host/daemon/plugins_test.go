package daemon

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// firstParty reads a module of plugins/.
func firstParty(t testing.TB, name string) []byte {
	t.Helper()
	return moduleOf(t, filepath.Join("..", "..", "plugins", name, name+".wasm"))
}

// hostile reads a module that breaks the contract.
func hostile(t testing.TB, name string) []byte {
	t.Helper()
	return moduleOf(t, filepath.Join("..", "policy", "testdata", "hostile", name+".wasm"))
}

func moduleOf(t testing.TB, path string) []byte {
	t.Helper()
	bin, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// versioned gives a module another version of the same length.
func versioned(t testing.TB, bin []byte, version string) []byte {
	t.Helper()
	const was = `"version":"1.0.0"`
	if len(version) != len("1.0.0") || bytes.Count(bin, []byte(was)) != 1 {
		t.Fatal("the version of this module is not to be changed so")
	}
	return bytes.Replace(bin, []byte(was), []byte(`"version":"`+version+`"`), 1)
}

// push pushes a module and gives its version.
func push(t testing.TB, d *Daemon, tenant poise.TenantID, bin []byte, tag string) client.PluginVersion {
	t.Helper()
	v, err := d.PushPlugin(context.Background(), tenant, client.PluginPush{Module: bin, Tag: tag}, "tester")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// keep puts a module into the store as a push would, without its checks: how one
// that breaks the contract comes into force.
func keep(t testing.TB, d *Daemon, tenant poise.TenantID, bin []byte, rule string) *poise.Activation {
	t.Helper()
	a := poise.Activation{Tenant: tenant, Plugin: "kept", Version: "1.0.0", Digest: digestOf(bin), OnFailure: rule, By: "tester"}
	if err := d.store.PutModule(t.Context(), a.Digest, bin); err != nil {
		t.Fatal(err)
	}
	if err := d.change(t.Context(), poise.PolicySet{Activation: a}); err != nil {
		t.Fatal(err)
	}
	return &a
}

func TestPushAndList(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 4, "8"), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Submit(ctx, "a", []client.JobSpec{job("x", "1"), job("y", "2")}, ""); err != nil {
		t.Fatal(err)
	}
	bin := firstParty(t, "bestfit")
	v := push(t, d, "a", bin, "stable")
	if v.Plugin != "bestfit" || v.Digest != digestOf(bin) || v.Tenant != "a" || v.By != "tester" || v.Size != len(bin) || len(v.Tags) != 1 {
		t.Errorf("%+v", v)
	}
	names := map[string]client.PluginCheck{}
	for _, c := range v.Checks {
		names[c.Name] = c
	}
	for _, name := range []string{"deterministic", "fuel-4", "fuel-40"} {
		if names[name].Outcome != "pass" {
			t.Errorf("check %s: %+v", name, names[name])
		}
	}
	if c := names["this-fleet"]; c.Outcome != "pass" || !strings.HasPrefix(c.Detail, "2 kinds of job on 4 nodes, 0.") {
		t.Errorf("%+v", c)
	}

	// The same again is nothing new, and takes a tag along; another module of the
	// same version is a conflict.
	if again := push(t, d, "a", bin, "beta"); again.Pushed != v.Pushed || len(again.Tags) != 2 {
		t.Errorf("%+v", again)
	}
	other := bytes.Clone(bin)
	other[bytes.Index(other, []byte("description"))+len(`description":"`)] ^= 0x20 // another letter
	_, err := d.PushPlugin(ctx, "a", client.PluginPush{Module: other}, "tester")
	refused(t, err, poise.Conflict, "a version stays what it is")
	if len(mustList(t, d, "a")) != 1 || len(mustList(t, d, "b")) != 0 {
		t.Error("a tenant sees another's, or not its own")
	}

	// What is for all is seen by all, and what belongs to a tenant by operators.
	push(t, d, "", versioned(t, firstParty(t, "binpack"), "1.0.9"), "")
	if len(mustList(t, d, "a")) != 2 || len(mustList(t, d, "b")) != 1 || len(mustList(t, d, "")) != 2 {
		t.Error("lists are wrong")
	}
	got, err := d.PullPlugin(ctx, "b", "binpack@1.0.9")
	if err != nil || digestOf(got.Module) != got.Version.Digest {
		t.Errorf("%+v, %v", got.Version, err)
	}
	_, err = d.PullPlugin(ctx, "b", "bestfit")
	refused(t, err, poise.NotFound, "no such plugin")
}

func mustList(t testing.TB, d *Daemon, tenant poise.TenantID) []client.PluginVersion {
	t.Helper()
	list, err := d.Plugins(t.Context(), tenant, "")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPushRefused(t *testing.T) {
	d := open(t, folder(t), settings{"policy.limits.module": "64Ki"})
	f := func(bin []byte, tag, text string, kind poise.Kind) {
		t.Helper()
		_, err := d.PushPlugin(t.Context(), "a", client.PluginPush{Module: bin, Tag: tag}, "tester")
		refused(t, err, kind, text)
	}
	f([]byte("no module"), "", "verify", poise.Invalid)
	f(nil, "", "verify", poise.Invalid)
	f(make([]byte, 64<<10+1), "", "policy.limits.module", poise.Limit)
	f(firstParty(t, "bestfit"), "../x", "tag", poise.Invalid)
	f(hostile(t, "output-nan"), "", "checks failed", poise.Invalid)
	f(hostile(t, "loop-score"), "", "fuel", poise.Invalid)
	f(hostile(t, "trap-initialize"), "", "trap", poise.Invalid)
	bad := bytes.Replace(firstParty(t, "bestfit"), []byte(`"name":"bestfit"`), []byte(`"name":"best/it"`), 1)
	f(bad, "", `name: "best/it"`, poise.Invalid)
	if got := mustList(t, d, ""); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	modules, err := d.store.Modules(t.Context())
	if err != nil || len(modules) != 0 {
		t.Errorf("%+v, %v, expected nothing to be kept", modules, err)
	}
}

// A name is a version, a tag or the beginning of a digest; without any it is the
// latest, and a tenant's own goes before what is for all.
func TestResolve(t *testing.T) {
	d := open(t, folder(t), nil)
	put := func(tenant, version, digest, tag string) {
		t.Helper()
		at := int64(len(version)) + int64(version[0])
		if err := d.store.PutVersion(t.Context(), store.VersionRow{Tenant: tenant, Plugin: "p", Version: version, Digest: digest, At: at, Body: []byte("{}")}, []byte(digest), tag); err != nil {
			t.Fatal(err)
		}
	}
	one, two, three := "sha256:11"+strings.Repeat("0", 62), "sha256:11"+strings.Repeat("0", 61)+"2", "sha256:33"+strings.Repeat("0", 62)
	put("a", "1", one, "stable")
	put("a", "2", two, "")
	put("", "3", three, "stable")
	put("", "1", three[:70]+"9", "all")
	f := func(tenant poise.TenantID, text, want string) {
		t.Helper()
		row, err := d.resolve(t.Context(), tenant, text)
		if err != nil || row.Version+" "+row.Tenant != want {
			t.Errorf("%s: version %q of %q, %v, expected %q", text, row.Version, row.Tenant, err, want)
		}
	}
	f("a", "p", "2 a")
	f("a", "p@1", "1 a")
	f("a", "p:stable", "1 a")
	f("a", "p:all", "1 ")
	f("a", "p@3", "3 ")
	f("b", "p", "3 ")
	f("b", "p:stable", "3 ")
	f("", "p", "3 ")
	f("a", one, "1 a")
	f("b", "p@"+three, "3 ")
	bad := func(tenant poise.TenantID, text string, kind poise.Kind, say string) {
		t.Helper()
		_, err := d.resolve(t.Context(), tenant, text)
		refused(t, err, kind, say)
	}
	bad("a", "p@sha256:110000", poise.Invalid, "several digests")
	bad("b", "p@2", poise.NotFound, "no such version")
	bad("b", one, poise.NotFound, "no such version")
	bad("a", "q", poise.NotFound, "no such plugin")
	bad("a", "p@4", poise.NotFound, "no such version")
	bad("a", "p:none", poise.NotFound, "no such version")
	bad("a", "../p", poise.Invalid, "the name is none")
}

// What may be needed again stays; what nobody needs goes.
func TestDeleteAndCollect(t *testing.T) {
	dir := folder(t)
	d := open(t, dir, nil)
	ctx := t.Context()
	bin := firstParty(t, "bestfit")
	one, two, three := push(t, d, "a", bin, ""), push(t, d, "a", versioned(t, bin, "1.0.1"), "t"), push(t, d, "a", versioned(t, bin, "1.0.2"), "")
	for _, v := range []client.PluginVersion{one, two} {
		if _, err := d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit@" + v.Version}, "tester"); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, d.DeletePlugin(ctx, "a", "bestfit@1.0.1"), poise.Conflict, "in force")
	refused(t, d.DeletePlugin(ctx, "a", "bestfit@1.0.0"), poise.Conflict, "rolled back to")
	refused(t, d.DeletePlugin(ctx, "a", "bestfit"), poise.Invalid, "a version of it")
	refused(t, d.DeletePlugin(ctx, "b", "bestfit@1.0.2"), poise.NotFound, "no such plugin")
	if err := d.DeletePlugin(ctx, "a", "bestfit@1.0.2"); err != nil {
		t.Fatal(err)
	}
	there := func(digest string, want bool) {
		t.Helper()
		_, err := d.store.Module(ctx, digest)
		if (err == nil) != want {
			t.Errorf("module %s: %v, expected it to be there: %v", digest[:20], err, want)
		}
	}
	there(three.Digest, false)
	if err := d.Deactivate(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	// Decisions of both can be made again.
	for _, v := range []string{"1.0.0", "1.0.1"} {
		if err := d.DeletePlugin(ctx, "a", "bestfit@"+v); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.store.PutModule(ctx, "sha256:stray", []byte("stray")); err != nil {
		t.Fatal(err)
	}
	gone, err := d.CollectPlugins(ctx)
	if err != nil || gone != (client.PluginsCollected{Modules: 1, Bytes: 5}) {
		t.Errorf("%+v, %v, expected the stray one", gone, err)
	}
	there(one.Digest, true)
	there(two.Digest, true)
	if got := mustList(t, d, ""); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A tenant that wants signatures gets no module without one, be it pushed or for
// all.
func TestSignaturesRequired(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	push(t, d, "", firstParty(t, "bestfit"), "")
	err := d.durably(ctx, func(c *core) error {
		return c.event(poise.TenantSet{Tenant: poise.Tenant{ID: "a", Signed: true, Keys: []string{"RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.PushPlugin(ctx, "a", client.PluginPush{Module: firstParty(t, "dotproduct")}, "tester")
	refused(t, err, poise.Denied, "signature: none")
	_, err = d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit"}, "tester")
	refused(t, err, poise.Denied, "signature: none")
	_, err = d.PushPlugin(ctx, "a", client.PluginPush{Module: firstParty(t, "dotproduct"), Signature: "none"}, "tester")
	refused(t, err, poise.Invalid, "signature")
}

// A tenant that is removed leaves no policy behind, and none of its plugins: one
// that is made under its name later begins with nothing.
func TestRemovedTenantHasNoPolicy(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if err := d.CreateTenant(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	push(t, d, "a", firstParty(t, "bestfit"), "")
	if _, err := d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit"}, "tester"); err != nil {
		t.Fatal(err)
	}
	lanes := func() (n int) {
		t.Helper()
		if err := d.do(ctx, func(c *core) error { n = len(c.lanes); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := lanes(); n != 2 {
		t.Errorf("%d lanes, expected two", n)
	}
	if _, err := d.Submit(ctx, "a", []client.JobSpec{job("x", "1m")}, ""); err != nil {
		t.Fatal(err)
	}
	refused(t, d.RemoveTenant(ctx, "a"), poise.Conflict, "has jobs")
	if n := lanes(); n != 2 || len(d.Tenants()) != 1 {
		t.Errorf("%d lanes and %v after a removal that was refused", n, d.Tenants())
	}
	if _, err := d.Cancel(ctx, "a", "x"); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveTenant(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if n := lanes(); n != 1 || len(d.Tenants()) != 0 {
		t.Errorf("%d lanes and %v after the removal", n, d.Tenants())
	}
	if err := d.CreateTenant(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	stack, err := d.Policy(ctx, "a")
	if list := mustList(t, d, "a"); err != nil || len(list) != 0 || len(stack.Layers) != 0 {
		t.Errorf("%+v, %+v, %v, expected nothing", list, stack, err)
	}
}

// The configuration's cluster policy is not changed from elsewhere.
func TestConfiguredClusterPolicy(t *testing.T) {
	path, err := filepath.Abs(plugin)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, folder(t), settings{"policy.path": path})
	ctx := t.Context()
	push(t, d, "", firstParty(t, "bestfit"), "")
	_, err = d.Activate(ctx, "", client.ActivationSpec{Plugin: "bestfit"}, "tester")
	refused(t, err, poise.Conflict, "policy.path")
	_, err = d.Rollback(ctx, "")
	refused(t, err, poise.Conflict, "policy.path")
	refused(t, d.Deactivate(ctx, ""), poise.Conflict, "policy.path")
	stack, err := d.Activate(ctx, "t", client.ActivationSpec{Plugin: "bestfit"}, "tester")
	if err != nil || len(stack.Layers) != 2 || stack.Layers[0].By != byConfiguration || stack.Layers[1].Plugin != "bestfit" {
		t.Errorf("%+v, %v", stack, err)
	}
}

// An activation is checked before anything changes, each refusal with field,
// value and what was expected.
func TestActivateRefused(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	push(t, d, "a", firstParty(t, "bestfit"), "stable")
	push(t, d, "a", firstParty(t, "gpu-reserve"), "")
	f := func(spec client.ActivationSpec, kind poise.Kind, text string) {
		t.Helper()
		_, err := d.Activate(ctx, "a", spec, "tester")
		refused(t, err, kind, text)
	}
	f(client.ActivationSpec{Plugin: "bestfit", Params: map[string]string{"cpu_max": "0"}}, poise.Invalid, `cpu_max: "0", expected a finite number, at least 1`)
	f(client.ActivationSpec{Plugin: "bestfit", Params: map[string]string{"x": "0"}}, poise.Invalid, "unknown parameter")
	f(client.ActivationSpec{Plugin: "bestfit", Weight: 1}, poise.Invalid, "declares no loss_range")
	f(client.ActivationSpec{Plugin: "bestfit", Weight: 11}, poise.Limit, "weight: 11, expected at most 10")
	f(client.ActivationSpec{Plugin: "bestfit", Weight: -1}, poise.Invalid, "weight: -1")
	f(client.ActivationSpec{Plugin: "gpu-reserve", Weight: 1}, poise.Invalid, "gives no losses")
	f(client.ActivationSpec{Plugin: "bestfit", OnFailure: "never"}, poise.Invalid, "on failure")
	f(client.ActivationSpec{Plugin: "bestfit:beta"}, poise.NotFound, "no such version")
	f(client.ActivationSpec{Plugin: ""}, poise.Invalid, "plugin")
	_, err := d.Rollback(ctx, "a")
	refused(t, err, poise.NotFound, "none in force")

	// A tag is resolved once; what it names later changes nothing. The same again
	// is no change, and nothing to roll back to.
	one, err := d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit:stable"}, "tester")
	if err != nil || one.Layers[0].OnFailure != poise.RuleFallback || one.Layers[0].Params["cpu_max"] != "128000" || one.Layers[0].Limits.Weight != 10 {
		t.Fatalf("%+v, %v", one, err)
	}
	push(t, d, "a", versioned(t, firstParty(t, "bestfit"), "1.0.1"), "stable")
	if now, err := d.Policy(ctx, "a"); err != nil || now.Layers[0].Digest != one.Layers[0].Digest {
		t.Errorf("%+v, %v", now, err)
	}
	if again, err := d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit@1.0.0"}, "tester"); err != nil || len(again.Layers[0].History) != 0 || again.Layers[0].Since != one.Layers[0].Since {
		t.Errorf("%+v, %v", again, err)
	}
	two, err := d.Activate(ctx, "a", client.ActivationSpec{Plugin: "gpu-reserve", OnFailure: poise.RuleLastGood}, "tester")
	if err != nil || len(two.Layers[0].History) != 1 || !strings.Contains(two.Layers[0].Rule, "bestfit 1.0.0 decides") {
		t.Errorf("%+v, %v", two, err)
	}
	back, err := d.Rollback(ctx, "a")
	if err != nil || back.Layers[0].Digest != one.Layers[0].Digest || len(back.Layers[0].History) != 0 {
		t.Errorf("%+v, %v", back, err)
	}
}

// A module that the store has lost, or has other bytes for, is not handed out,
// and is whole again after a push.
func TestLostModule(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	bin := firstParty(t, "bestfit")
	v := push(t, d, "a", bin, "")
	lost := func() {
		t.Helper()
		_, err := d.PullPlugin(ctx, "a", "bestfit")
		refused(t, err, poise.Unavailable, "push the module again")
		_, err = d.Activate(ctx, "a", client.ActivationSpec{Plugin: "bestfit"}, "tester")
		refused(t, err, poise.Unavailable, "push the module again")
	}
	if err := d.store.DeleteModule(ctx, v.Digest); err != nil {
		t.Fatal(err)
	}
	lost()
	if err := d.store.PutModule(ctx, v.Digest, []byte("other")); err != nil {
		t.Fatal(err)
	}
	lost()
	push(t, d, "a", bin, "")
	if got, err := d.PullPlugin(ctx, "a", "bestfit"); err != nil || !bytes.Equal(got.Module, bin) {
		t.Errorf("%d bytes, %v", len(got.Module), err)
	}
}
