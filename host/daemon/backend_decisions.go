package daemon

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Why implements api.Backend.
func (d *Daemon) Why(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Why, error) {
	t, err := d.target(ctx, tenant, nameOrID)
	if err != nil {
		return client.Why{}, err
	}
	row := t.telling()
	j, err := d.view(ctx, &row)
	if err != nil {
		return client.Why{}, err
	}
	w := client.Why{Job: j}
	if t.whole {
		whole, err := d.sum(&t)
		if err != nil {
			return client.Why{}, err
		}
		if w.Job.Array == nil { // of a gang
			w.Job.Array = whole.Array
		}
		w.Job.Array.States = whole.Array.States
	}
	if j.State == client.Waiting {
		w.Waits = d.board.rests.reason(poise.TenantID(row.Tenant), d.core.now())
		if w.Queue, err = d.standing(ctx, poise.JobID(row.ID)); err != nil {
			return w, err
		}
		w.Expected = d.expected(ctx, poise.JobID(row.ID), tenant)
	}
	now, err := d.attempt(ctx, row.ID)
	if err != nil {
		return w, err
	}
	w.Job.Reserved, w.Behind = now.reserved, now.behind
	if now.waits != "" {
		w.Waits = now.waits
	}
	if w.Decision = now.decision; w.Decision == nil {
		if w.Decision, w.At, err = d.decided(ctx, &row); err != nil {
			return w, err
		}
	}
	if w.Like = now.like; w.Decision != nil && w.Like == "" {
		// Stores of before have no count.
		w.Job.Attempts = max(w.Job.Attempts, now.count, 1)
		w.Attempt = w.Job.Attempts
	}
	return w, nil
}

// standing gives where a job stands in the queue, nil where it has no place there.
func (d *Daemon) standing(ctx context.Context, id poise.JobID) (*client.Standing, error) {
	var s *client.Standing
	return s, d.do(ctx, func(c *core) error {
		at, ok := c.loop.Standing(id)
		if !ok {
			return nil
		}
		s = &client.Standing{Ahead: at.Jobs, More: at.More, OthersFirst: at.Tenants > 0, Tenants: at.Tenants, Waiting: at.Waiting}
		for _, first := range at.First {
			s.First = append(s.First, c.jobs[first].spec.Job.Name)
		}
		return nil
	})
}

// decided gives the latest decision on a job that the history has, and when it
// was made where that is known.
func (d *Daemon) decided(ctx context.Context, row *store.JobRow) (*client.Decision, time.Time, error) {
	if len(row.Decision) > 0 {
		w, err := decisionView(row.Decision, row.ID)
		return w, time.Time{}, err
	}
	places, err := d.store.Placements(ctx, row.ID)
	last, ok := lastPlace(places)
	if err != nil || !ok {
		return nil, time.Time{}, err
	}
	made, err := d.store.Decision(ctx, last.Decision)
	if err != nil {
		return nil, time.Time{}, err
	}
	w, err := decisionView(made.Body, row.ID)
	return w, client.At(poise.Time(made.At)), err
}

// decisionView gives a decision of the history on a job as it goes over the wire.
func decisionView(body []byte, job string) (*client.Decision, error) {
	d, err := decisionOn(body, job)
	if err != nil {
		return nil, err
	}
	return client.NewDecision(d), nil
}

// Plan implements api.Backend: a dry run on the live state, under the policy that
// decides.
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
	w := client.Why{Job: client.Job{ID: string(j.ID), Name: j.Name, Tenant: string(j.Tenant), State: client.Waiting, Spec: spec}}
	if j.Gang != nil {
		return w, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("plan job %q", j.Name), Detail: "gang: given, expected all members together at /v1/plan/gang"}
	}
	decisions, at, err := d.try(ctx, &j)
	if err == nil {
		w.Decision, w.At = client.NewDecision(&decisions[0]), client.At(at)
	}
	return w, err
}

// Decisions implements api.Backend.
func (d *Daemon) Decisions(ctx context.Context, tenant poise.TenantID, f client.DecisionFilter) (client.DecisionPage, error) {
	page := client.DecisionPage{Decisions: []client.DecisionRecord{}}
	q := store.DecisionQuery{Tenant: string(tenant), Newest: true, To: d.store.Last(), Limit: 1000}
	if f.After != "" {
		n, err := strconv.ParseUint(f.After, 10, 64)
		if err != nil || n == 0 {
			return page, badPage(f.After)
		}
		q.To = n - 1
	}
	for q.To > 0 && len(page.Decisions) < f.Limit {
		rows, err := d.store.Decisions(ctx, q)
		if err != nil {
			return page, err
		}
		q.To = 0 // there are no more, unless the block is full
		if len(rows) == q.Limit {
			q.To = rows[len(rows)-1].Seq - 1
		}
		for i := 0; i < len(rows) && len(page.Decisions) < f.Limit; i++ {
			r, ok, err := d.record(ctx, &rows[i], f)
			if err != nil {
				return page, err
			}
			if ok {
				page.Decisions = append(page.Decisions, r)
				page.Next = strconv.FormatUint(r.Index, 10)
			}
		}
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
	w, err := decisionView(row.Body, row.Job)
	if err != nil {
		return client.DecisionRecord{}, false, fmt.Errorf("decision %d: %w", row.Seq, err)
	}
	return client.DecisionRecord{
		Index: row.Seq, At: client.At(poise.Time(row.At)), Name: job.Name, Tenant: job.Tenant, Attempt: 1, Decision: *w,
	}, f.Verdict == "" || f.Verdict == w.Verdict, nil
}
