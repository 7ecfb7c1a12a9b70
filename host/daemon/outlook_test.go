package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sim"
)

// lasting is a job that runs for a time.
func lasting(name, cpu, runTime string) client.JobSpec {
	spec := job(name, cpu)
	spec.RunTime = runTime
	return spec
}

// An outlook says who starts when, changes nothing, and goes by the plugins in
// force. Why has it for a job of its own.
func TestOutlook(t *testing.T) {
	d := open(t, folder(t), settings{"engine.sim_scale": "1"})
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "a", nodes("a", 2, "8"), ""); err != nil {
		t.Fatal(err)
	}
	activate(t, d, "u", "dotproduct", nil)
	if _, err := d.Submit(ctx, "t", []client.JobSpec{lasting("full-0", "8", "10m"), lasting("full-1", "8", "20m"), lasting("next", "8", "10m")}, ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two tasks", func() bool {
		page, err := d.Jobs(ctx, "t", client.JobFilter{State: client.Running, Limit: 10})
		return err == nil && len(page.Jobs) == 2
	})
	before := d.store.Last()
	specs := []client.JobSpec{lasting("b", "8", "5m"), lasting("c", "4", "5m"), lasting("never", "9", "5m")}
	specs[1].After = []string{"b"}
	o, err := d.PlanAll(ctx, "u", specs)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, x := range o.Jobs {
		text += fmt.Sprintf("%s %v %s %s; ", x.Job, x.Start.Sub(o.From).Round(time.Minute), x.Node[:min(1, len(x.Node))], x.Decision.Policy)
	}
	// What is free first is kept for what waits of t.
	want := "b 20m0s a dotproduct; c 25m0s a dotproduct; never"
	if !strings.HasPrefix(text, want) || len(o.Jobs) != 3 || !o.Jobs[2].Start.IsZero() || o.Jobs[2].Note != "never fits the present nodes" {
		t.Errorf("%s\nexpected %s", text, want)
	}
	why, err := d.Why(ctx, "t", "next")
	if err != nil || why.Expected == nil || why.Expected.Start.Sub(o.From).Round(time.Minute) != 10*time.Minute {
		t.Errorf("%+v, %v, expected it to start in ten minutes", why.Expected, err)
	}
	if again, err := d.Why(ctx, "t", "next"); err != nil || again.Expected == nil || !again.Expected.Start.Equal(why.Expected.Start) {
		t.Errorf("%+v, %v, expected the same again", again.Expected, err)
	}
	if after := d.store.Last(); after != before {
		t.Errorf("%d events came of an outlook", after-before)
	}
	if _, err := d.PlanAll(ctx, "u", []client.JobSpec{{Name: "wrong"}}); poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v, expected the job refused", err)
	}
}

// What a tenant's policy uses in outlooks is paid from its bucket, and bounded by it:
// it has no more of the host than by decisions. Others have their outlooks meanwhile.
func TestOutlookIsPaidFor(t *testing.T) {
	d := open(t, folder(t), settings{"engine.sim_scale": "1", "policy.limits.tenant_fuel": "1"})
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "a", nodes("a", 2, "8"), ""); err != nil {
		t.Fatal(err)
	}
	activate(t, d, "u", "dotproduct", nil)
	specs := []client.JobSpec{lasting("b", "8", "5m"), lasting("c", "7", "5m")}
	o, err := d.PlanAll(ctx, "u", specs)
	if err != nil || o.Cut != string(sim.AtStop) || o.Jobs[0].Start.IsZero() || !o.Jobs[1].Start.IsZero() {
		t.Fatalf("%+v, %v, expected the first job alone", o, err)
	}
	used := int64(0)
	if err := d.do(ctx, func(c *core) error { used = c.fuel["u"].used; return nil }); err != nil || used <= 1 {
		t.Errorf("%d units used, %v, expected those of a decision", used, err)
	}
	_, err = d.PlanAll(ctx, "u", specs)
	refused(t, err, poise.Unavailable, "has used its fuel of 1 units a second")
	if o, err := d.PlanAll(ctx, "t", specs); err != nil || o.Cut != "" || o.Jobs[1].Start.IsZero() {
		t.Errorf("%+v, %v, expected both jobs", o, err)
	}
}
