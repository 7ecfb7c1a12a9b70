package daemon

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A dry run says what the decision behind it then is, whoever decides, and goes
// on while policies change.
func TestPlanAgreesWithDecision(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "a", nodes("a", 7, "8"), ""); err != nil {
		t.Fatal(err)
	}
	agree := func(tenant poise.TenantID, i int) {
		t.Helper()
		spec := job(fmt.Sprint("j", i), fmt.Sprintf("%dm", 100*(1+i%7)))
		planned, err := d.Plan(ctx, tenant, spec)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := d.Submit(ctx, tenant, []client.JobSpec{spec}, "")
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "a task", func() bool {
			j, err := d.Job(ctx, tenant, jobs[0].ID)
			return err == nil && j.State == client.Running
		})
		why, err := d.Why(ctx, tenant, jobs[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		was, is := *planned.Decision, *why.Decision
		// The job has an id now, what it asks for is counted, and it is nobody's
		// business how much of it was known before.
		is.Job, is.Now, is.Looked, is.Plugins, is.Epoch = was.Job, was.Now, was.Looked, was.Plugins, was.Epoch
		if !reflect.DeepEqual(was, is) {
			t.Fatalf("tenant %s, job %d: planned %+v\ndecided %+v", tenant, i, was, is)
		}
	}
	for i := range 10 {
		agree("t", i)
	}
	activate(t, d, "", "dotproduct", nil)
	activate(t, d, "u", "fgd", nil)
	for i := range 20 {
		agree([]poise.TenantID{"t", "u"}[i%2], i)
	}
	if err := d.change(ctx, poise.PolicyRolledBack{Tenant: "u"}); err != nil {
		t.Fatal(err)
	}
	agree("u", 30)
	if n := len(d.dry.lanes); n != 2 {
		t.Errorf("%d policies kept for dry runs, expected those of the cluster and of u", n)
	}
}

// Dry runs of more tenants than policies are kept for, at once, while policies
// change.
func TestManyDryRuns(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	if _, err := d.JoinCluster(ctx, "a", nodes("a", 3, "8"), ""); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range maxDryLanes + 4 {
		tenant := poise.TenantID(fmt.Sprint("t", i))
		activate(t, d, tenant, "dotproduct", nil)
		all.Go(func() {
			for k := range 4 {
				w, err := d.Plan(ctx, tenant, job("j", "1m"))
				if err != nil || w.Decision.Policy != "dotproduct" && w.Decision.Policy != "idle-balance" {
					t.Errorf("%+v, %v", w.Decision, err)
				}
				if k == 2 {
					if err := d.change(ctx, poise.PolicyCleared{Tenant: tenant}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if n := len(d.dry.lanes); n > maxDryLanes {
		t.Errorf("%d policies kept, expected %d at most", n, maxDryLanes)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := d.Plan(gone, "t", job("j", "1m"))
	refused(t, err, poise.Unavailable, "no answer in time")
}
