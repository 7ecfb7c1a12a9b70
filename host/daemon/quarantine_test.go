package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A plugin that faults three times in a row is in quarantine: its rule decides,
// its tenant sees why, and another tenant sees nothing of it. What is put in
// force next is asked.
func TestQuarantine(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 3, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	keep(t, d, "bad", hostile(t, "trap-unreachable"), poise.RuleReject)
	keep(t, d, "good", firstParty(t, "bestfit"), poise.RuleReject)
	submit := func(tenant poise.TenantID, names ...string) (ids []string) {
		t.Helper()
		for i, name := range names { // of a kind each, or the first would stand for all
			jobs, err := d.Submit(ctx, tenant, []client.JobSpec{job(name, fmt.Sprintf("%dm", len(name)+i))}, "")
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, jobs[0].ID)
		}
		return ids
	}
	ids := submit("bad", "a", "b", "c")
	inForce := func(tenant poise.TenantID) *poise.Activation {
		t.Helper()
		now, err := d.inForce(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return now.Activation(tenant)
	}
	eventually(t, "the quarantine", func() bool { return inForce("bad").Quarantined })
	if a := inForce("bad"); a.Since == 0 {
		t.Errorf("%+v, expected to know since when", a)
	}
	for _, id := range submit("good", "d") {
		runs(t, d, "good", id)
	}
	if a := inForce("good"); a.Quarantined {
		t.Errorf("%+v", a)
	}
	late := submit("bad", "late")[0]
	eventually(t, "a decision by the rule", func() bool {
		w, err := d.Why(ctx, "bad", late)
		return err == nil && w.Decision != nil && strings.Contains(w.Decision.Fault, `of tenant "bad": in quarantine since 20`) && strings.Contains(w.Job.Reason, "in quarantine")
	})
	stack, err := d.Policy(ctx, "bad")
	if err != nil || stack.Layers[0].Quarantined.IsZero() || stack.Layers[0].Fault == "" {
		t.Errorf("%+v, %v", stack, err)
	}
	kinds := map[string]int{}
	events, err := d.store.EventsOf(ctx, "policy-quarantined")
	for _, r := range events {
		kinds[r.Kind]++
	}
	if err != nil || kinds["policy-quarantined"] != 1 {
		t.Errorf("%v, %v, expected one event", kinds, err)
	}
	err = d.do(ctx, func(c *core) error {
		d.metrics.Plugins(c.pluginUse())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for series, want := range map[string]float64{
		`poise_plugin_quarantined tenant=bad`: 1, `poise_plugin_quarantined tenant=good`: 0, `poise_plugin_calls_total tenant=good`: 1,
	} {
		if got, ok := seriesOf(t, d)[series]; !ok || got != want {
			t.Errorf("%s: %v, %v, expected %v", series, got, ok, want)
		}
	}
	if got := seriesOf(t, d)["poise_plugin_seconds_total tenant=good"]; got <= 0 {
		t.Errorf("the time of calls: %v, expected some", got)
	}
	keep(t, d, "bad", firstParty(t, "bestfit"), poise.RuleReject)
	for _, id := range append(ids, late) {
		runs(t, d, "bad", id)
	}
}

// A plugin that faulted because its bytes were gone is tried again, and is back
// at work once they are there.
func TestProbes(t *testing.T) {
	o := options(t, folder(t), nil)
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d.probes.first, d.probes.longest = 20*time.Millisecond, 100*time.Millisecond
	run(t, d)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 3, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	bin := firstParty(t, "bestfit")
	a := poise.Activation{Tenant: "a", Plugin: "bestfit", Version: "1.0.0", Digest: digestOf(bin), OnFailure: poise.RuleReject}
	if err := d.change(ctx, poise.PolicySet{Activation: a}); err != nil { // its module is not there
		t.Fatal(err)
	}
	jobs, err := d.Submit(ctx, "a", []client.JobSpec{job("x", "1m"), job("y", "2m"), job("z", "3m")}, "")
	if err != nil {
		t.Fatal(err)
	}
	quarantined := func() bool {
		now, err := d.inForce(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return now.Activation("a").Quarantined
	}
	eventually(t, "the quarantine", quarantined)
	if err := d.store.PutModule(ctx, a.Digest, bin); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the quarantine", func() bool { return !quarantined() })
	for _, j := range jobs {
		runs(t, d, "a", j.ID)
	}
	events, err := d.store.EventsOf(ctx, "policy-quarantined")
	if err != nil || len(events) != 2 {
		t.Errorf("%d events, %v, expected two", len(events), err)
	}
}

// Jobs whose lane rests for want of fuel say so, each and in the explanation.
func TestFuelBucketIsAReason(t *testing.T) {
	d := open(t, folder(t), settings{"policy.limits.tenant_fuel": "1"})
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "c", nodes("n", 3, "1000"), ""); err != nil {
		t.Fatal(err)
	}
	keep(t, d, "a", firstParty(t, "bestfit"), poise.RuleReject)
	var specs []client.JobSpec
	for range 5 {
		specs = append(specs, job("x", "1m"))
	}
	jobs, err := d.Submit(ctx, "a", specs, "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reason", func() bool {
		for _, j := range jobs {
			j, err := d.Job(ctx, "a", j.ID)
			if err != nil || j.State != client.Waiting || !strings.Contains(j.Reason, "used its fuel of 1 units a second") {
				continue
			}
			w, err := d.Why(ctx, "a", j.ID)
			return err == nil && strings.Contains(w.Waits, "used its fuel")
		}
		return false
	})
	stack, err := d.Policy(ctx, "a")
	if err != nil || !strings.Contains(stack.Waits, "used its fuel") {
		t.Errorf("%+v, %v", stack, err)
	}
	// Another policy pays no debt off.
	if err := d.Deactivate(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	keep(t, d, "a", firstParty(t, "bestfit"), poise.RuleReject)
	if stack, err = d.Policy(ctx, "a"); err != nil || !strings.Contains(stack.Waits, "used its fuel") {
		t.Errorf("%+v, %v, expected the tenant to owe what it did before", stack, err)
	}
}

// seriesOf gives the metrics of the daemon by name and tenant.
func seriesOf(t *testing.T, d *Daemon) map[string]float64 {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "tenant" {
					all[f.GetName()+" tenant="+l.GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	return all
}

// runs waits until a job of a tenant runs.
func runs(t testing.TB, d *Daemon, tenant poise.TenantID, id string) {
	t.Helper()
	eventually(t, "job "+id+" to run", func() bool {
		j, err := d.Job(t.Context(), tenant, id)
		return err == nil && j.State == client.Running
	})
}
