package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
)

// neighbor is a tenant without a policy of its own whose jobs flow one after the
// other, on nodes of its own, and what was decided about them.
type neighbor struct {
	d       *Daemon
	ids     []string
	decided []string
}

// more has so many more jobs placed, each before the next.
func (b *neighbor) more(ctx context.Context, count int) error {
	for range count {
		n := len(b.ids)
		jobs, err := b.d.Submit(ctx, "bolt", []client.JobSpec{pooled(fmt.Sprint("b", n), 1+n%7, "b")}, "")
		if err != nil {
			return err
		}
		b.ids = append(b.ids, jobs[0].ID)
		var w client.Why
		for late := time.Now().Add(patience); w.Job.State != client.Running; time.Sleep(2 * time.Millisecond) {
			if w, err = b.d.Why(ctx, "bolt", jobs[0].ID); err != nil {
				return err
			}
			if time.Now().After(late) {
				return fmt.Errorf("job %d of bolt: %s (%s), expected it to run", n, w.Job.State, w.Job.Reason)
			}
		}
		// What names a time or a place in the log is another one beside others.
		w.Decision.Job, w.Decision.Now, w.Decision.Version, w.Decision.Epoch, w.Decision.Looked = "", time.Time{}, 0, 0, 0
		text, err := json.Marshal(w.Decision)
		if err != nil {
			return err
		}
		b.decided = append(b.decided, string(text))
	}
	return nil
}

// answers is all that the tenant is told.
func (b *neighbor) answers(t testing.TB) string {
	t.Helper()
	ctx := t.Context()
	jobs, err := b.d.Jobs(ctx, "bolt", client.JobFilter{Limit: client.MaxPage})
	decisions, err2 := b.d.Decisions(ctx, "bolt", client.DecisionFilter{Limit: client.MaxPage})
	plugins, err3 := b.d.Plugins(ctx, "bolt", "")
	policy, err4 := b.d.Policy(ctx, "bolt")
	if err != nil || err2 != nil || err3 != nil || err4 != nil || len(jobs.Jobs) == 0 || len(decisions.Decisions) == 0 {
		t.Fatal(err, err2, err3, err4, len(jobs.Jobs), len(decisions.Decisions))
	}
	var events []client.Event
	last := b.ids[len(b.ids)-1]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = b.d.Events(ctx, "bolt", 0, func(e client.Event) error {
		if events = append(events, e); e.Job == last {
			cancel()
		}
		return nil
	})
	if ctx.Err() == nil {
		t.Fatal(err)
	}
	var whys []client.Why
	for _, id := range b.ids {
		w, err := b.d.Why(t.Context(), "bolt", id)
		if err != nil {
			t.Fatal(err)
		}
		whys = append(whys, w)
	}
	text, err := json.Marshal([]any{jobs, decisions, plugins, policy, events, whys})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pooled is a job that asks for the nodes of one pool, and does not end.
func pooled(name string, milli int, pool string) client.JobSpec {
	s := job(name, fmt.Sprintf("%dm", milli))
	s.Selectors, s.RunTime = []client.Selector{{Key: "pool", Op: "In", Values: []string{pool}}}, "100h"
	return s
}

// quarter is a daemon with a pool of nodes for each of two tenants.
func quarter(t testing.TB) *Daemon {
	t.Helper()
	// Its losses do not depend on what others ask for. All that a tenant spins
	// here is paid for.
	o := options(t, folder(t), settings{"scheduler.policy": "idle-balance-spread", "policy.limits.tenant_fuel": "1000000000000"})
	o.Compile = nil // many modules, each small
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, d)
	var all []client.NodeSpec
	for _, pool := range []string{"a", "b"} {
		for _, n := range append(nodes(pool, 4, "1000"), nodes(pool+"z", 1, "8")...) {
			n.Labels = map[string]string{"pool": pool}
			all = append(all, n)
		}
	}
	if _, err := d.JoinCluster(t.Context(), "c", all, ""); err != nil {
		t.Fatal(err)
	}
	return d
}
