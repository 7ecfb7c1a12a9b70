package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/store"
)

// answering puts a plugin in force that answers, or fails, as its parameters say.
func (d *day) answering(a poise.Activation) {
	d.t.Helper()
	bin, err := os.ReadFile("../policy/testdata/guests/answer.wasm")
	d.must(err)
	d.must(d.admit(d.t.Context(), d.core.loop.State().Policies().Scheduler(), bin, &a))
	d.put(poise.PolicySet{Activation: a})
}

// one submits a job of a tenant, with so many GPUs.
func (d *day) one(tenant poise.TenantID, gpus int32) {
	d.t.Helper()
	d.jobs++
	j := poise.Job{
		ID: "later", Name: fmt.Sprint("one", d.jobs), Tasks: 1, RunTime: 1 << 40,
		Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 1000}}},
	}
	if gpus > 0 {
		j.Request.Device = poise.DeviceRequest{Kind: "gpu", Count: gpus, Milli: poise.WholeDevice}
	}
	d.core.submit([]Spec{{Command: []string{"run"}, Job: j}}, tenant, "", nil, func(_ []store.JobRow, err error) { d.must(err) })
}

// decided gives the decisions that placed something, in their order.
func (d *day) decided() []poise.Decision {
	d.t.Helper()
	rows, err := d.store.Decisions(d.t.Context(), store.DecisionQuery{From: 1, Limit: 1000})
	d.must(err)
	all := make([]poise.Decision, len(rows))
	for i := range rows {
		if err := json.Unmarshal(rows[i].Body, &all[i]); err != nil {
			d.t.Fatal(err)
		}
	}
	return all
}

// Decisions replay whatever the failure rule made of them: the policy under a
// plugin, the version before, the one that stands in for a plugin in quarantine;
// and weights, refusals, devices that a plugin chose, and answers that changes
// overtook.
func TestReplayOfFaults(t *testing.T) {
	c := config.Defaults()
	c.DataDir = folder(t)
	d := newDay(t, c.DataDir, &c)
	d.put(poise.SchedulerSet{Scheduler: scheduler(&c)})
	for range 24 {
		d.join()
	}
	want := 0
	// by lets jobs be decided, and says how.
	by := func(tenant poise.TenantID, gpus int32, policy string, faulty bool) *poise.Decision {
		t.Helper()
		d.one(tenant, gpus)
		d.decideAll()
		all := d.decided()
		if want++; len(all) != want {
			t.Fatalf("%d decisions, expected %d", len(all), want)
		}
		last := &all[want-1]
		if last.Policy != policy || (last.Fault != "") != faulty {
			t.Errorf("decided by %s, fault %q, expected %s, a fault: %v", last.Policy, last.Fault, policy, faulty)
		}
		return last
	}
	on := func(rule, how string, more ...string) poise.Activation {
		a := poise.Activation{Tenant: "u", OnFailure: rule, Params: map[string]string{"how": how}}
		for i := 0; i < len(more); i += 2 {
			a.Params[more[i]] = more[i+1]
		}
		return a
	}
	d.answering(on(poise.RuleFallback, "5"))
	by("u", 0, "idle-balance", true)
	by("t", 1, "idle-balance", false)
	d.answering(on(poise.RuleFallback, "0", "loss", "7"))
	by("u", 0, "answer", false)
	d.answering(on(poise.RuleLastGood, "5"))
	by("u", 1, "answer", true)
	d.put(poise.PolicyQuarantined{Tenant: "u", Quarantined: true})
	by("u", 0, "answer", true)
	weighted := on(poise.RuleFallback, "0", "loss", "3")
	weighted.Weight = 2
	d.answering(weighted)
	by("u", 1, "answer", false)
	d.answering(on(poise.RuleReject, "0", "mask", "12"))
	if got := by("u", 2, "answer", false); fmt.Sprint(got.Devices) != "[2 3]" {
		t.Errorf("devices %v, expected those that the plugin chose, 2 and 3", got.Devices)
	}
	d.activate("", "dotproduct", nil)
	by("t", 0, "dotproduct", false)
	d.answering(on(poise.RuleReject, "0", "loss", "-4"))
	by("u", 2, "answer", false)
	d.answering(on(poise.RuleFallback, "5"))
	by("u", 0, "dotproduct", true)
	d.put(poise.PolicyQuarantined{Tenant: "u", Quarantined: true})
	by("u", 0, "dotproduct", true)

	// Each time that the plugin has an answer, its node has changed.
	d.one("t", 0)
	d.decideNow()
	for range 3 {
		d.catch()
		for _, name := range d.names {
			row, _ := d.core.loop.State().Row(name)
			n := d.core.loop.State().View().NodeOf(row)
			n.Capacity[0].Value += 1000
			d.must(d.core.join(n))
		}
		d.settle()
	}
	d.write()
	want++
	all := d.decided()
	if last := &all[len(all)-1]; len(all) != want || last.Fault != loop.Overtaken || last.Policy != "idle-balance" {
		t.Errorf("%d decisions, the last by %s, fault %q, expected one that was overtaken", len(all), last.Policy, last.Fault)
	}
	d.must(d.store.Close())
	for _, rerun := range []bool{false, true} {
		got, err := Replay(t.Context(), &c, ReplayOptions{From: 1, RerunGuests: rerun})
		if err != nil || got.Index != 0 || got.Decisions != want {
			t.Errorf("rerun %v: %+v, %v, expected %d decisions and no difference", rerun, got, err, want)
		}
	}
}

// decideAll decides until nothing is left to be tried.
func (d *day) decideAll() {
	d.t.Helper()
	d.decideNow()
	d.finish()
}
