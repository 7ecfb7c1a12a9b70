package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine/local"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// find gives the row of a job by id or by name; tenant "" is all of them.
func (d *Daemon) find(ctx context.Context, tenant poise.TenantID, nameOrID string) (store.JobRow, error) {
	row, err := d.store.Job(ctx, nameOrID)
	if err == nil && (tenant == "" || row.Tenant == string(tenant)) {
		return row, nil
	}
	if err != nil && poise.KindOf(err) != poise.NotFound {
		return row, err
	}
	row, err = d.byName(ctx, tenant, nameOrID)
	if poise.KindOf(err) == poise.NotFound {
		return row, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("job %q", nameOrID), Detail: "no such job, expected the name or id of one"}
	}
	return row, err
}

// Job implements api.Backend.
func (d *Daemon) Job(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	t, err := d.target(ctx, tenant, nameOrID)
	if err != nil {
		return client.Job{}, err
	}
	if t.whole {
		return d.sum(&t)
	}
	row := &t.rows[0]
	j, err := d.view(ctx, row)
	if err == nil {
		err = d.runs(ctx, &j)
	}
	if err != nil || j.State != client.Waiting {
		return j, err
	}
	if now, err := d.attempt(ctx, row.ID); err == nil { // else the history has to do
		j.Attempts = max(j.Attempts, now.count)
		j.Order, j.Reserved = now.order, now.reserved
	}
	return j, nil
}

// attempt is the latest one to find a place for a job.
type attempt struct {
	reserved *client.Reservation // what is kept for the job
	behind   *client.Behind      // what is kept from it

	count    int // how many there were
	decision *client.Decision
	like     string        // the name of the job that decision is about, where it is one that asks for the same
	order    *client.Order // nil where it does not wait
	waits    string        // why it is not tried now, "" where it is, in its turn
}

// attempt gives what the loop knows of a job that has not ended. The history is
// told only of an attempt that came out otherwise than the one before.
func (d *Daemon) attempt(ctx context.Context, id string) (attempt, error) {
	got := &attempt{}
	err := d.do(ctx, func(c *core) error {
		if live := c.jobs[poise.JobID(id)]; live != nil {
			got.count = int(live.row.Attempts)
			got.order = c.orderOf(live)
			got.waits = c.keptBack(live)
			got.reserved, got.behind = c.reservedFor(live), c.behind(live, c.decisionOn(live))
			if made := c.decisionOn(live); made != nil {
				got.decision = client.NewDecision(made)
			} else if like, ok := c.loop.Like(live.spec.Job.ID); ok && c.jobs[like].decision != nil {
				got.decision, got.like = client.NewDecision(c.jobs[like].decision), c.jobs[like].spec.Job.Name
				got.behind = c.behind(live, c.jobs[like].decision)
			}
		}
		return nil
	})
	if err != nil { // the loop may still write to it
		return attempt{}, err
	}
	return *got, nil
}

// Jobs implements api.Backend.
func (d *Daemon) Jobs(ctx context.Context, tenant poise.TenantID, f client.JobFilter) (client.JobPage, error) {
	var selectors []poise.Selector
	if f.Selector != "" {
		var err error
		if selectors, err = poise.ParseSelectors(f.Selector); err != nil {
			return client.JobPage{}, err
		}
	}
	q := store.JobQuery{Tenant: string(tenant), State: string(f.State), NamePrefix: f.Name, Limit: f.Limit}
	if f.After != "" {
		seq, id, ok := strings.Cut(f.After, ".")
		n, err := strconv.ParseInt(seq, 10, 64)
		if !ok || err != nil {
			return client.JobPage{}, badPage(f.After)
		}
		q.After = store.JobMark{Seq: n, ID: id}
	}
	page := client.JobPage{Jobs: []client.Job{}}
	for {
		rows, err := d.store.Jobs(ctx, q)
		if err != nil {
			return page, err
		}
		for i := range rows {
			q.After = store.JobMark{Seq: rows[i].Seq, ID: rows[i].ID}
			if f.Name != "" && rows[i].Name != f.Name || f.Node != "" && rows[i].Node != f.Node {
				continue
			}
			if ok, err := labelled(&rows[i], selectors); err != nil || !ok {
				if err != nil {
					return page, err
				}
				continue
			}
			if len(page.Jobs) == f.Limit {
				return page, nil
			}
			j, err := d.view(ctx, &rows[i])
			if err != nil {
				return page, err
			}
			page.Jobs = append(page.Jobs, j)
			page.Next = fmt.Sprintf("%d.%s", rows[i].Seq, rows[i].ID)
		}
		if len(rows) < q.Limit {
			page.Next = ""
			return page, nil
		}
		if len(page.Jobs) == f.Limit {
			return page, nil
		}
	}
}

// labelled says whether a job's labels match.
func labelled(row *store.JobRow, selectors []poise.Selector) (bool, error) {
	if len(selectors) == 0 {
		return true, nil
	}
	var spec struct {
		Job struct{ Labels []poise.Label }
	}
	if err := json.Unmarshal(row.Body, &spec); err != nil {
		return false, fmt.Errorf("job %q: %w", row.ID, err)
	}
	return poise.MatchAll(selectors, spec.Job.Labels), nil
}

// Cancel implements api.Backend.
func (d *Daemon) Cancel(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	t, err := d.target(ctx, tenant, nameOrID)
	if err != nil {
		return client.Job{}, err
	}
	if t.whole {
		return d.cancelAll(ctx, tenant, &t)
	}
	row := &t.rows[0]
	if !client.JobState(row.State).Ended() {
		done := make(chan error, 1)
		err := d.do(ctx, func(c *core) error {
			c.cancel(poise.JobID(row.ID), func(err error) {
				select {
				case done <- err:
				default: // there is one answer, the first
				}
			})
			return nil
		})
		if err != nil {
			return client.Job{}, err
		}
		select {
		case err := <-done:
			if err != nil && poise.KindOf(err) != poise.Conflict {
				return client.Job{}, err
			}
		case <-d.core.stopped:
			return client.Job{}, stopping()
		case <-ctx.Done():
			return client.Job{}, unavailable(ctx)
		}
	}
	return d.Job(ctx, tenant, row.ID)
}

// Logs implements api.Backend.
func (d *Daemon) Logs(ctx context.Context, tenant poise.TenantID, nameOrID string, o client.LogOptions) (io.ReadCloser, error) {
	t, err := d.target(ctx, tenant, nameOrID)
	if err != nil {
		return nil, err
	}
	row, err := t.one("logs")
	if err != nil {
		return nil, err
	}
	places, err := d.store.Placements(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	last, ok := lastPlace(places)
	if ok {
		if log, inPod, err := d.podLogs(ctx, &row, &last, o); inPod || err != nil {
			return log, err
		}
	}
	if !ok || d.local == nil {
		return nil, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("logs of job %q", row.Name), Detail: "it has not run on this machine, expected a job with a task here"}
	}
	opt := local.LogOptions{Follow: o.Follow, Tail: o.Tail, Since: client.Moment(o.Since)}
	switch o.Stream {
	case "stdout":
		opt.Stream = local.Stdout
	case "stderr":
		opt.Stream = local.Stderr
	}
	log, err := d.local.Logs(ctx, last.ID, opt)
	if poise.KindOf(err) == poise.NotFound {
		return nil, &poise.Error{
			Kind: poise.NotFound, Op: fmt.Sprintf("logs of job %q", row.Name),
			Detail: fmt.Sprintf("its task on node %s has no output here, expected one that ran on this machine, and lately", last.Node),
		}
	}
	return log, err
}

// views gives jobs as they go over the wire.
func (d *Daemon) views(ctx context.Context, rows []store.JobRow, err error) ([]client.Job, error) {
	if err != nil {
		return nil, err
	}
	jobs := make([]client.Job, len(rows))
	for i := range rows {
		if jobs[i], err = d.view(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// view gives one job as it goes over the wire.
func (d *Daemon) view(ctx context.Context, row *store.JobRow) (client.Job, error) {
	var spec Spec
	if err := json.Unmarshal(row.Body, &spec); err != nil {
		return client.Job{}, fmt.Errorf("job %q: %w", row.ID, err)
	}
	j := client.Job{
		ID: row.ID, Name: row.Name, Tenant: row.Tenant, State: client.JobState(row.State), Node: row.Node,
		Spec: spec.view(), Held: spec.Job.Held, Array: spec.Array.view(), Submitted: client.At(poise.Time(row.Submitted)), ExitCode: row.ExitCode,
		Signal: row.Signal, Attempts: int(row.Attempts),
	}
	if j.State.Ended() {
		j.Ended, j.Detail = client.At(poise.Time(row.Changed)), row.Reason
	} else {
		j.Reason = row.Reason
	}
	if rests := d.board.rests.reason(poise.TenantID(row.Tenant), d.core.now()); rests != "" && row.State == stateWaiting {
		if j.Reason != "" {
			j.Reason += "; "
		}
		j.Reason += rests
	}
	if row.State == stateWaiting || row.State == stateWithdrawn {
		return j, nil
	}
	places, err := d.store.Placements(ctx, row.ID)
	if err != nil {
		return j, err
	}
	if p, ok := lastPlace(places); ok {
		j.Placement, j.Devices, j.Placed, j.Started = p.ID, p.Devices, client.At(poise.Time(p.Placed)), client.At(poise.Time(p.Started))
		if p.Ended > 0 {
			j.Ended = client.At(poise.Time(p.Ended))
		}
	}
	return j, nil
}

// view gives a job as it was submitted, as it goes over the wire.
func (s *Spec) view() client.JobSpec {
	v := client.NewJobSpec(&s.Job)
	v.Command, v.Env, v.Dir, v.Image = s.Command, s.Env, s.Dir, s.Image
	v.Selectors = slices.DeleteFunc(v.Selectors, func(o client.Selector) bool { return o.Key == poise.ClusterLabel && len(o.Values) == 0 })
	v.After, v.AfterAny, v.AfterFailure = s.After, s.AfterAny, s.AfterFailure
	return v
}
