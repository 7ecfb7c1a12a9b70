package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	compare "github.com/poise-sched/poise/host/shadow"
	"github.com/poise-sched/poise/host/store"
)

// pushed keeps a module as a version of the cluster's plugins and gives its
// digest.
func pushed(t testing.TB, d *Daemon, path, name string) string {
	t.Helper()
	bin, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bin)
	v := store.VersionRow{Plugin: name, Version: "1.0.0", Digest: "sha256:" + hex.EncodeToString(sum[:])}
	if err := d.store.PutVersion(t.Context(), v, bin, ""); err != nil {
		t.Fatal(err)
	}
	return v.Digest
}

// shadowed is a daemon with some nodes and a shadow of the tenant t.
func shadowed(t testing.TB, dir, path string, s settings) *Daemon {
	t.Helper()
	d := open(t, dir, s)
	prepared(t, d, path)
	return d
}

func prepared(t testing.TB, d *Daemon, path string) {
	t.Helper()
	// A small node, which only those who pack like.
	if _, err := d.JoinCluster(t.Context(), "c", append(nodes("n", 4, "1000"), nodes("z", 1, "8")...), ""); err != nil {
		t.Fatal(err)
	}
	pushed(t, d, path, "beside")
	if _, err := d.StartShadow(t.Context(), "t", client.ShadowSpec{Plugin: "beside"}, "me"); err != nil {
		t.Fatal(err)
	}
}

// flow submits jobs, one by one, and waits until each has a place.
func flow(t testing.TB, d *Daemon, tenant poise.TenantID, count int) []string {
	t.Helper()
	var ids []string
	for i := range count {
		jobs, err := d.Submit(t.Context(), tenant, []client.JobSpec{job(fmt.Sprint("f", i), fmt.Sprintf("%dm", 1+i%7))}, "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, jobs[0].ID)
	}
	for _, id := range ids {
		eventually(t, "a place", func() bool {
			j, err := d.Job(t.Context(), tenant, id)
			return err == nil && j.State == client.Running
		})
	}
	return ids
}

// seen waits until a shadow has seen so many decisions, and gives its report.
func seen(t testing.TB, d *Daemon, tenant poise.TenantID, count int64) client.Shadow {
	t.Helper()
	var s client.Shadow
	eventually(t, fmt.Sprint(count, " decisions of the shadow"), func() bool {
		var err error
		if s, err = d.Shadow(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		return s.Decisions+s.Dropped >= count
	})
	return s
}

// begun runs a daemon until stop.
func begun(t testing.TB, dir string) (d *Daemon, stop func()) {
	t.Helper()
	d, err := Open(t.Context(), options(t, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return d, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A report adds up, names what differs and why, and outlives the daemon; the
// jobs go where they went without it.
func TestShadowReport(t *testing.T) {
	dir := folder(t)
	d, stop := begun(t, dir)
	prepared(t, d, "../../plugins/binpack/binpack.wasm")
	ctx := t.Context()
	if err := d.CreateTenant(ctx, "t"); err != nil { // that of one that is gone would not come back
		t.Fatal(err)
	}
	_, err := d.StartShadow(ctx, "t", client.ShadowSpec{Plugin: "beside@1.0.0"}, "me")
	refused(t, err, poise.Conflict, "binpack")
	flow(t, d, "t", 40)
	flow(t, d, "other", 5)
	s := seen(t, d, "t", 40)
	if s.Decisions+s.Dropped != 40 || s.Decisions == 0 || s.Faulted != 0 || s.By != "me" || s.Fuel.PerDecision <= 0 || s.Fuel.Most > s.Fuel.Budget {
		t.Errorf("%+v", s)
	}
	if s.Agreed == s.Decisions || len(s.Latest) == 0 {
		t.Fatalf("agreed %d of %d, %d differences: expected some", s.Agreed, s.Decisions, len(s.Latest))
	}
	for _, x := range s.Latest {
		if x.LiveOnLive.Loss == nil || x.LiveOnWould.Loss == nil || x.WouldOnLive.Loss == nil || x.WouldOnOwn.Loss == nil {
			t.Fatalf("%+v, expected four losses", x)
		}
		if *x.LiveOnLive.Loss > *x.LiveOnWould.Loss || *x.WouldOnOwn.Loss > *x.WouldOnLive.Loss {
			t.Errorf("%+v: one chose what it likes less", x)
		}
	}
	// Over a restart it goes on.
	stop()
	d, stop = begun(t, dir)
	defer stop()
	again := seen(t, d, "t", 1)
	if again.Decisions != s.Decisions || again.Agreed != s.Agreed || len(again.Latest) != len(s.Latest) || !again.Since.Equal(s.Since) {
		t.Errorf("%+v after a restart, expected %+v", again, s)
	}
	flow(t, d, "t", 10)
	if more := seen(t, d, "t", 50); more.Decisions+more.Dropped != 50 {
		t.Errorf("%d and %d dropped, expected 50", more.Decisions, more.Dropped)
	}
	// What would be in force with it is what is compared: another policy beside
	// it, and the figures begin anew.
	a := poise.Activation{Tenant: "t", Plugin: "beside", Digest: s.Digest, OnFailure: poise.RuleFallback}
	if err := d.change(ctx, poise.PolicySet{Activation: a}); err != nil {
		t.Fatal(err)
	}
	flow(t, d, "t", 10)
	if s = seen(t, d, "t", 10); s.Decisions+s.Dropped != 10 || s.Agreed != s.Decisions {
		t.Errorf("%+v, expected it to agree with itself", s)
	}
	if err := d.StopShadow(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	_, err = d.Shadow(ctx, "t")
	refused(t, err, poise.NotFound, "shadow of tenant")
	if rows, err := d.store.Shadows(ctx); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v, expected none", rows, err)
	}
}

// The loop takes no guest call and waits for no shadow: one that cannot move
// costs it what it has no room for.
func TestShadowIsNotWaitedFor(t *testing.T) {
	d := shadowed(t, folder(t), "../policy/testdata/hostile/loop-filter.wasm", nil)
	d.shades.slots <- struct{}{} // nothing of a shadow runs from here on
	flow(t, d, "t", 3*shadowQueue)
	s, err := d.Shadow(t.Context(), "t")
	if err != nil || s.Decisions != 0 || s.Dropped < 2*shadowQueue-1 {
		t.Errorf("%d compared, %d dropped, %v, expected none of %d and most dropped", s.Decisions, s.Dropped, err, 3*shadowQueue)
	}
	<-d.shades.slots
	s = seen(t, d, "t", 3*shadowQueue)
	if s.Faults["fuel"] == 0 || s.Faulted != s.Decisions {
		t.Errorf("%+v, expected faults of fuel only", s)
	}
}

// Whatever the plugin does, decisions are the native ones and the report says
// what it did.
func TestHostileShadows(t *testing.T) {
	paths, err := filepath.Glob("../policy/testdata/hostile/*.wasm")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d modules, %v", len(paths), err)
	}
	o := options(t, folder(t), nil)
	o.Compile = nil // many modules, each small
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, d)
	if _, err := d.JoinCluster(t.Context(), "c", nodes("n", 4, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	started, faults := 0, map[string]int64{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".wasm")
		pushed(t, d, path, name)
		if _, err := d.StartShadow(t.Context(), "t", client.ShadowSpec{Plugin: name}, ""); err != nil {
			if kind := poise.KindOf(err); strings.Contains(err.Error(), "panic") || kind == poise.NotFound {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		started++
		for _, id := range flow(t, d, "t", 2) {
			why, err := d.Why(t.Context(), "t", id)
			if err != nil || why.Decision.Policy != "idle-balance" || why.Decision.Fault != "" || len(why.Decision.Plugins) > 0 {
				t.Errorf("%s: %+v, %v", name, why.Decision, err)
			}
		}
		s := seen(t, d, "t", 2)
		for code, n := range s.Faults {
			faults[code] += n
		}
		if err := d.StopShadow(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d ran, faults %v", started, len(paths), faults)
	for _, code := range []string{"fuel", "trap", "memory", "bad-output", "depth"} {
		if faults[code] == 0 {
			t.Errorf("no fault %s, expected some", code)
		}
	}
}

// A gate permits exactly at its bounds, what ran and nothing else.
func TestShadowGate(t *testing.T) {
	d := shadowed(t, folder(t), plugin, nil)
	ctx := t.Context()
	s, err := d.Shadow(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	gate := client.Gate{Agreement: 0.95, MinDecisions: 1000, MaxFaults: &zero}
	pass := func(want string, a poise.Activation, g client.Gate, tally compare.Tally) {
		t.Helper()
		err := d.do(ctx, func(c *core) error {
			sh := c.shadows["t"]
			sh.mu.Lock()
			sh.kept.Tally = tally
			sh.mu.Unlock()
			return c.passes(&a, &g)
		})
		if want == "" && err != nil {
			t.Errorf("%v, expected it to pass", err)
		} else if want != "" {
			refused(t, err, poise.Conflict, want)
		}
	}
	a := poise.Activation{Tenant: "t", Plugin: "dotproduct", Version: "1", Digest: s.Digest}
	good := compare.Tally{Decisions: 1000, Agreed: 950}
	pass("", a, gate, good)
	pass("949 of 1000", a, gate, compare.Tally{Decisions: 1000, Agreed: 949})
	pass("decisions: 999 compared", a, gate, compare.Tally{Decisions: 999, Agreed: 999})
	pass("faults: in 1 decisions", a, gate, compare.Tally{Decisions: 1000, Agreed: 1000, Faulted: 1})
	pass("", a, client.Gate{Agreement: 0.95, MinDecisions: 1000}, compare.Tally{Decisions: 1000, Agreed: 1000, Faulted: 1})
	other := a
	other.Digest = "sha256:00"
	pass("expected digest sha256:00 (compared 1000, agreed 950", other, gate, good)
	other = a
	other.Params = map[string]string{"x": "1"}
	pass("it ran with parameters map[]", other, gate, good)
	other = a
	other.Tenant = "u"
	pass(`shadow of tenant "u": none`, other, gate, good)
	// The figures are of what was in force when it ran.
	flow(t, d, "t", 1)
	seen(t, d, "t", 1)
	pass("", a, gate, good)
	if err := d.change(ctx, poise.PolicySet{Activation: poise.Activation{Tenant: "t", Plugin: "p", Digest: s.Digest}}); err != nil {
		t.Fatal(err)
	}
	pass("what is in force has changed", a, gate, good)
}

// The check and what it permits are one: refused, nothing has changed; permitted,
// the plugin is in force and its shadow is over.
func TestActivateBehindGate(t *testing.T) {
	d := shadowed(t, folder(t), plugin, nil)
	ctx := t.Context()
	flow(t, d, "t", 20)
	s := seen(t, d, "t", 20)
	zero := int64(0)
	activate := func(decisions int64, params map[string]string) error {
		_, err := d.Activate(ctx, "t", client.ActivationSpec{
			Plugin: "beside", Params: params, Gate: &client.Gate{Agreement: s.Agreement, MinDecisions: decisions, MaxFaults: &zero},
		}, "me")
		return err
	}
	refused(t, activate(s.Decisions+1, nil), poise.Conflict, fmt.Sprintf("decisions: %d compared, expected %d at least", s.Decisions, s.Decisions+1))
	if p, err := d.inForce(ctx); err != nil || p.Activation("t") != nil {
		t.Fatalf("%v, %v: in force though it was refused", p.Activation("t"), err)
	}
	if err := activate(s.Decisions, nil); err != nil {
		t.Fatal(err)
	}
	if p, err := d.inForce(ctx); err != nil || p.Activation("t") == nil || p.Activation("t").Digest != s.Digest {
		t.Fatalf("%v, %v: not in force", p.Activation("t"), err)
	}
	_, err := d.Shadow(ctx, "t")
	refused(t, err, poise.NotFound, "shadow of tenant")
}

// A tenant takes its shadow with it.
func TestShadowOfRemovedTenant(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	for range 2 {
		if err := d.CreateTenant(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		_, err := d.Shadow(ctx, "t")
		refused(t, err, poise.NotFound, "none")
		pushed(t, d, plugin, "beside")
		if _, err := d.StartShadow(ctx, "t", client.ShadowSpec{Plugin: "beside"}, ""); err != nil {
			t.Fatal(err)
		}
		if err := d.RemoveTenant(ctx, "t"); err != nil {
			t.Fatal(err)
		}
	}
}

// What a shadow runs is needed, though nothing else names it.
func TestShadowKeepsItsModule(t *testing.T) {
	d := shadowed(t, folder(t), plugin, nil)
	ctx := t.Context()
	if err := d.DeletePlugin(ctx, "", "beside@1.0.0"); err != nil {
		t.Fatal(err)
	}
	if gone, err := d.CollectPlugins(ctx); err != nil || gone.Modules != 0 {
		t.Errorf("%+v, %v, expected nothing collected", gone, err)
	}
	flow(t, d, "t", 3)
	if s := seen(t, d, "t", 3); s.Faulted != 0 {
		t.Errorf("%+v", s)
	}
	if err := d.StopShadow(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if gone, err := d.CollectPlugins(ctx); err != nil || gone.Modules != 1 {
		t.Errorf("%+v, %v, expected the module collected", gone, err)
	}
}

// BenchmarkShow is what a decision costs the loop: without a shadow, with one
// that has room, and with one that has none.
func BenchmarkShow(b *testing.B) {
	for _, name := range []string{"none", "room", "full"} {
		b.Run(name, func(b *testing.B) {
			d, err := Open(b.Context(), options(b, folder(b), nil))
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			c := d.core
			for i := range 5000 {
				n := poise.Node{Name: fmt.Sprintf("n%04d", i), Cluster: "c", Capacity: resource.List{{Name: "cpu", Value: 1 << 30}}}
				if err := c.join(n); err != nil {
					b.Fatal(err)
				}
			}
			sh := newShadow(d.shades, keptShadow{})
			if name != "none" {
				c.shadows["t"] = sh
				sh.begin(b.Context())
				sh.end() // nothing reads the queue
				for name == "full" && len(sh.queue) < cap(sh.queue) {
					sh.queue <- shown{}
				}
			}
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				id := poise.JobID(fmt.Sprint(i))
				s := Spec{Job: poise.Job{ID: id, Name: "j", Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 1}}}}}
				if _, err := c.accept(&s, "", 0); err != nil {
					b.Fatal(err)
				}
				for name == "room" && len(sh.queue) > 0 {
					<-sh.queue
				}
				b.StartTimer()
				if _, err := c.decide(); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				c.batch, c.effects = store.Batch{}, nil
				b.StartTimer()
			}
		})
	}
}

// What the fleet would be like counts each placement of the tenant once, and a
// shadow that decides alike leads to the fleet as it is.
func TestShadowFleet(t *testing.T) {
	f := func(path string, same bool) {
		t.Helper()
		d := shadowed(t, folder(t), path, nil)
		ctx := t.Context()
		if same { // the plugin is in force, too
			s, err := d.Shadow(ctx, "t")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.change(ctx, poise.PolicySet{Activation: poise.Activation{Tenant: "t", Plugin: "p", Digest: s.Digest}}); err != nil {
				t.Fatal(err)
			}
		}
		flow(t, d, "t", 30)
		flow(t, d, "other", 10)
		seen(t, d, "t", 30)
		if _, err := d.RerunShadow(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		var r *client.ShadowRerun
		eventually(t, "the rerun", func() bool {
			s, err := d.Shadow(ctx, "t")
			if err != nil {
				t.Fatal(err)
			}
			r = s.Fleet
			return !r.Running
		})
		if r.Error != "" || r.Decided != 30 || same && r.Moved != 0 || !same && r.Moved == 0 {
			t.Errorf("%s: %+v", path, r)
		}
		if r.Live.Fill["cpu"] <= 0 || r.Live.Fill["cpu"] != r.Would.Fill["cpu"] {
			t.Errorf("%s: fill %v and %v, expected the same jobs in both", path, r.Live.Fill, r.Would.Fill)
		}
	}
	f("../../plugins/binpack/binpack.wasm", false)
	f(plugin, true)
}

// A scene is the fleet as the decision saw it, without a name of another tenant.
func TestShadowScene(t *testing.T) {
	d := shadowed(t, folder(t), "../../plugins/binpack/binpack.wasm", nil)
	ctx := t.Context()
	if _, err := d.Submit(ctx, "secret-tenant", []client.JobSpec{job("secret-job-1", "1m"), job("secret-job-2", "1m")}, ""); err != nil {
		t.Fatal(err)
	}
	flow(t, d, "t", 20)
	seen(t, d, "t", 20)
	list, err := d.RecordedCases(ctx, "t", client.CaseFilter{})
	if err != nil || len(list.Cases) == 0 || list.Plugin != "binpack" {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, c := range list.Cases {
		scene, err := d.Scene(ctx, "t", c.Index, c.Job)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%+v", scene)
		if len(scene.Nodes) != 5 || strings.Contains(text, "secret") || strings.Contains(text, c.Job) {
			t.Fatalf("%s", text)
		}
	}
	_, err = d.Scene(ctx, "u", list.Cases[0].Index, list.Cases[0].Job)
	refused(t, err, poise.NotFound, "it did not wait then")
	differ, err := d.RecordedCases(ctx, "t", client.CaseFilter{Differ: true})
	if err != nil || len(differ.Cases) == 0 || len(differ.Cases) > len(list.Cases) {
		t.Errorf("%+v, %v", differ, err)
	}
	_, err = d.RecordedCases(ctx, "t", client.CaseFilter{Last: 3})
	refused(t, err, poise.NotFound, "no plugin is in force")
}

// The cluster's shadow sees the jobs of those that have no policy of their own.
func TestClusterShadow(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 2, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	digest := pushed(t, d, plugin, "beside")
	if _, err := d.StartShadow(ctx, "", client.ShadowSpec{Plugin: "beside"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.change(ctx, poise.PolicySet{Activation: poise.Activation{Tenant: "own", Plugin: "p", Digest: digest}}); err != nil {
		t.Fatal(err)
	}
	flow(t, d, "own", 5)
	flow(t, d, "none", 3)
	if s := seen(t, d, "", 3); s.Decisions+s.Dropped != 3 {
		t.Errorf("%d and %d dropped, expected 3", s.Decisions, s.Dropped)
	}
}
