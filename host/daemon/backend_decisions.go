package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/store"
)

// Why implements api.Backend.
func (d *Daemon) Why(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Why, error) {
	row, err := d.find(ctx, tenant, nameOrID)
	if err != nil {
		return client.Why{}, err
	}
	j, err := d.view(ctx, &row)
	if err != nil {
		return client.Why{}, err
	}
	w := client.Why{Job: j}
	err = d.do(ctx, func(c *core) error {
		if live := c.jobs[poise.JobID(row.ID)]; live != nil && live.decision != nil {
			w.Decision, w.Attempt, w.Job.Attempts = client.NewDecision(live.decision), live.attempts, live.attempts
		}
		return nil
	})
	if err != nil || w.Decision != nil {
		return w, err
	}
	places, err := d.store.Placements(ctx, row.ID)
	last, ok := lastPlace(places)
	if err != nil || !ok {
		return w, err
	}
	made, err := d.store.Decision(ctx, last.Decision)
	if err != nil {
		return w, err
	}
	var decision poise.Decision
	if err := json.Unmarshal(made.Body, &decision); err != nil {
		return w, fmt.Errorf("decision %d: %w", made.Seq, err)
	}
	w.Decision, w.At, w.Attempt = client.NewDecision(&decision), client.At(poise.Time(made.At)), len(places)
	return w, nil
}

// Plan implements api.Backend: a dry run on the live state, on the pipeline that
// decides. Where that is at work elsewhere it is not waited for.
func (d *Daemon) Plan(ctx context.Context, tenant poise.TenantID, spec client.JobSpec) (client.Why, error) {
	read, err := api.ParseJob(spec)
	if err != nil {
		return client.Why{}, err
	}
	j := read.Job
	j.ID, j.Tenant = "plan", tenant
	if j.Name == "" {
		j.Name = "plan"
	}
	w := client.Why{}
	err = d.do(ctx, func(c *core) error {
		draft, err := c.loop.State().Draft(&j, c.now())
		if err != nil {
			return err
		}
		decision, err := c.loop.Try(draft, sched.Full)
		if err != nil {
			return err
		}
		w.Decision, w.At = client.NewDecision(&decision), client.At(c.now())
		return nil
	})
	w.Job = client.Job{ID: string(j.ID), Name: j.Name, Tenant: string(j.Tenant), State: client.Waiting, Spec: spec}
	return w, err
}

// Decisions implements api.Backend.
func (d *Daemon) Decisions(ctx context.Context, f client.DecisionFilter) (client.DecisionPage, error) {
	page := client.DecisionPage{Decisions: []client.DecisionRecord{}}
	q := store.DecisionQuery{To: d.store.Last(), Limit: 1000}
	if f.After != "" {
		n, err := strconv.ParseUint(f.After, 10, 64)
		if err != nil || n == 0 {
			return page, badPage(f.After)
		}
		q.To = n - 1
	}
	// Newest first, in blocks from the end.
	for q.To > 0 && len(page.Decisions) < f.Limit {
		q.From = 1
		if q.To > 1000 {
			q.From = q.To - 999
		}
		rows, err := d.store.Decisions(ctx, q)
		if err != nil {
			return page, err
		}
		for i := len(rows) - 1; i >= 0 && len(page.Decisions) < f.Limit; i-- {
			r, ok, err := d.record(ctx, &rows[i], f)
			if err != nil {
				return page, err
			}
			if ok {
				page.Decisions = append(page.Decisions, r)
				page.Next = strconv.FormatUint(r.Index, 10)
			}
		}
		q.To = q.From - 1
	}
	if len(page.Decisions) < f.Limit {
		page.Next = ""
	}
	return page, nil
}

// record gives a decision as it goes over the wire, if the filter wants it.
func (d *Daemon) record(ctx context.Context, row *store.DecisionRow, f client.DecisionFilter) (client.DecisionRecord, bool, error) {
	if f.Node != "" && row.Node != f.Node {
		return client.DecisionRecord{}, false, nil
	}
	job, err := d.store.Job(ctx, row.Job)
	if err != nil && poise.KindOf(err) != poise.NotFound {
		return client.DecisionRecord{}, false, err
	}
	if f.Job != "" && f.Job != row.Job && f.Job != job.Name {
		return client.DecisionRecord{}, false, nil
	}
	var decision poise.Decision
	if err := json.Unmarshal(row.Body, &decision); err != nil {
		return client.DecisionRecord{}, false, fmt.Errorf("decision %d: %w", row.Seq, err)
	}
	w := client.NewDecision(&decision)
	return client.DecisionRecord{
		Index: row.Seq, At: client.At(poise.Time(row.At)), Name: job.Name, Tenant: job.Tenant, Attempt: 1, Decision: *w,
	}, f.Verdict == "" || f.Verdict == w.Verdict, nil
}
