package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine/local"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/store"
)

var _ api.Backend = (*Daemon)(nil)

// Submit implements api.Backend.
func (d *Daemon) Submit(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec, key string) ([]client.Job, error) {
	own := make([]Spec, len(specs))
	for i := range specs {
		j, err := api.ParseJob(specs[i])
		if err != nil {
			return nil, err
		}
		own[i] = Spec{Job: j.Job, Command: specs[i].Command, Env: specs[i].Env, Dir: specs[i].Dir}
	}
	hash := specsHash(own)
	if key != "" {
		d.core.keys.hold(keyOf(tenant, key))
		defer d.core.keys.release(keyOf(tenant, key))
		rows, err := d.known(ctx, tenant, key, hash)
		if err != nil || rows != nil {
			return d.views(ctx, rows, err)
		}
	}
	type answer struct {
		rows []store.JobRow
		err  error
	}
	done := make(chan answer, 2)
	err := d.do(ctx, func(c *core) error {
		c.submit(own, tenant, key, hash, func(rows []store.JobRow, err error) { done <- answer{rows, err} })
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case a := <-done:
		return d.views(ctx, a.rows, a.err)
	case <-d.core.stopped:
		return nil, stopping()
	case <-ctx.Done():
		return nil, unavailable(ctx)
	}
}

// known gives the jobs that a key stands for, nil where it is new.
func (d *Daemon) known(ctx context.Context, tenant poise.TenantID, key string, hash []byte) ([]store.JobRow, error) {
	var rows []store.JobRow
	for i := 0; ; i++ {
		k, err := d.store.Key(ctx, string(tenant), jobKey(key, i))
		if poise.KindOf(err) == poise.NotFound {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(k.Hash, hash) {
			return nil, keyConflict(key)
		}
		row, err := d.store.Job(ctx, k.Job)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
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
		Spec: client.NewJobSpec(&spec.Job), Submitted: client.At(poise.Time(row.Submitted)), ExitCode: row.ExitCode,
	}
	j.Spec.Command, j.Spec.Env, j.Spec.Dir = spec.Command, spec.Env, spec.Dir
	if j.State.Ended() {
		j.Ended, j.Detail = client.At(poise.Time(row.Changed)), row.Reason
	} else {
		j.Reason = row.Reason
	}
	places, err := d.store.Placements(ctx, row.ID)
	if err != nil {
		return j, err
	}
	if p, ok := lastPlace(places); ok && row.State != stateWaiting && row.State != stateWithdrawn {
		j.Placement, j.Devices, j.Placed, j.Started = p.ID, p.Devices, client.At(poise.Time(p.Placed)), client.At(poise.Time(p.Started))
		if p.Ended > 0 {
			j.Ended = client.At(poise.Time(p.Ended))
		}
	}
	return j, nil
}

// find gives the row of a job by id or by name.
func (d *Daemon) find(ctx context.Context, tenant poise.TenantID, nameOrID string) (store.JobRow, error) {
	row, err := d.store.Job(ctx, nameOrID)
	if err == nil && row.Tenant == string(tenant) {
		return row, nil
	}
	if err != nil && poise.KindOf(err) != poise.NotFound {
		return row, err
	}
	row, err = d.store.JobByName(ctx, string(tenant), nameOrID)
	if poise.KindOf(err) == poise.NotFound {
		return row, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("job %q", nameOrID), Detail: "no such job, expected the name or id of one"}
	}
	return row, err
}

// Job implements api.Backend.
func (d *Daemon) Job(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	row, err := d.find(ctx, tenant, nameOrID)
	if err != nil {
		return client.Job{}, err
	}
	return d.view(ctx, &row)
}

// Jobs implements api.Backend.
func (d *Daemon) Jobs(ctx context.Context, tenant poise.TenantID, f client.JobFilter) (client.JobPage, error) {
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

func badPage(after string) error {
	return &poise.Error{Kind: poise.Invalid, Op: "list", Detail: fmt.Sprintf("after: %q, expected what a page gave as next", after)}
}

// Cancel implements api.Backend.
func (d *Daemon) Cancel(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	row, err := d.find(ctx, tenant, nameOrID)
	if err != nil {
		return client.Job{}, err
	}
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

// Logs implements api.Backend.
func (d *Daemon) Logs(ctx context.Context, tenant poise.TenantID, nameOrID string, o client.LogOptions) (io.ReadCloser, error) {
	row, err := d.find(ctx, tenant, nameOrID)
	if err != nil {
		return nil, err
	}
	places, err := d.store.Placements(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	last, ok := lastPlace(places)
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
	return d.local.Logs(ctx, last.ID, opt)
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

// Events implements api.Backend.
func (d *Daemon) Events(ctx context.Context, after uint64, fn func(client.Event) error) error {
	for {
		news := d.board.wait()
		err := d.store.Read(ctx, after+1, func(r store.Record) error {
			after = r.Seq
			return fn(eventView(&r))
		})
		if err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// eventView gives an event as it goes over the wire.
func eventView(r *store.Record) client.Event {
	e := client.Event{Index: r.Seq, At: client.At(poise.Time(r.At)), Kind: r.Kind, Body: r.Body}
	ev, err := journal.Decode(journal.Entry{Index: r.Seq, At: poise.Time(r.At), Kind: r.Kind, Schema: r.Schema, Body: r.Body})
	if err != nil {
		return e // shown as the log has it
	}
	switch b := ev.Body.(type) {
	case poise.NodeJoined:
		e.Node = b.Node.Name
	case poise.NodeChanged:
		e.Node = b.Node.Name
	case poise.NodeMarked:
		e.Node = b.Name
	case poise.NodeLeft:
		e.Node = b.Name
	case poise.JobSubmitted:
		e.Job = string(b.Job.ID)
	case poise.JobPlaced:
		e.Job, e.Node = string(b.Placement.Job), b.Placement.Node
	case poise.JobFinished:
		e.Job = string(b.Job)
	case poise.JobRequeued:
		e.Job = string(b.Job)
	case poise.JobWithdrawn:
		e.Job = string(b.Job)
	}
	return e
}

// Health implements api.Backend.
func (d *Daemon) Health(context.Context) client.Health {
	h := client.Health{
		Ready: d.ready.Load(), StoreStalled: d.store.Stalled() != nil, LastEvent: d.store.Last(),
		Uptime: time.Since(d.began).Seconds(), Version: d.options.Version,
	}
	if err := d.options.Config.Status().Err; err != nil {
		h.ConfigError = err.Error()
	}
	return h
}
