package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// Submit submits jobs, all or none. The same key with the same specs gives the
// same answer and no new job, so a call that broke off can be made again; no key
// is "".
func (c *Client) Submit(ctx context.Context, specs []JobSpec, key string) ([]Job, error) {
	q := call{method: http.MethodPost, path: at("jobs"), body: map[string]any{"jobs": specs}}
	if key != "" {
		q.header = http.Header{"Idempotency-Key": {key}}
	}
	var v struct{ Jobs []Job }
	err := c.do(ctx, q, &v)
	return v.Jobs, err
}

// Job gets a job by name or id.
func (c *Client) Job(ctx context.Context, nameOrID string) (Job, error) {
	return get[Job](ctx, c, nil, "jobs", nameOrID)
}

// Jobs lists jobs, newest first. Limit 0 stands for DefaultPage.
func (c *Client) Jobs(ctx context.Context, f JobFilter) (JobPage, error) {
	return get[JobPage](ctx, c, params("state", string(f.State), "name", f.Name, "node", f.Node, "selector", f.Selector, "limit", number(f.Limit), "after", f.After), "jobs")
}

// Cancel withdraws a job that waits and stops one that runs.
func (c *Client) Cancel(ctx context.Context, nameOrID string) (Job, error) {
	return post[Job](ctx, c, nil, "jobs", nameOrID, "cancel")
}

// Hold keeps a job that waits from being tried until it is released.
func (c *Client) Hold(ctx context.Context, nameOrID string) (Job, error) {
	return post[Job](ctx, c, nil, "jobs", nameOrID, "hold")
}

// Release lets a job be tried that is held.
func (c *Client) Release(ctx context.Context, nameOrID string) (Job, error) {
	return post[Job](ctx, c, nil, "jobs", nameOrID, "release")
}

// SetPriority gives a job another priority.
func (c *Client) SetPriority(ctx context.Context, nameOrID string, priority int32) (Job, error) {
	return post[Job](ctx, c, map[string]int32{"priority": priority}, "jobs", nameOrID, "priority")
}

// Sweep cancels, holds or releases all jobs that a selector names, in one turn of
// the daemon's loop.
func (c *Client) Sweep(ctx context.Context, action JobAction, selector string) (Swept, error) {
	var v Swept
	err := c.do(ctx, call{method: http.MethodPost, path: at("jobs", string(action)), query: params("selector", selector)}, &v)
	return v, err
}

// Why gets the latest decision on a job.
func (c *Client) Why(ctx context.Context, nameOrID string) (Why, error) {
	return get[Why](ctx, c, nil, "jobs", nameOrID, "why")
}

// Plan asks where a job would go now.
func (c *Client) Plan(ctx context.Context, spec JobSpec) (Why, error) {
	return post[Why](ctx, c, spec, "plan")
}

// PlanGang decides where the members of a gang would go together, by index, or, in one
// decision, why not all that start together fit.
func (c *Client) PlanGang(ctx context.Context, specs []JobSpec) ([]Why, error) {
	var in struct {
		Jobs []JobSpec `json:"jobs"`
	}
	in.Jobs = specs
	out, err := post[struct {
		Members []Why `json:"members"`
	}](ctx, c, in, "plan", "gang")
	return out.Members, err
}

// Logs reads the output of a job's task. A reader that ends without io.EOF did
// not get all of it.
func (c *Client) Logs(ctx context.Context, nameOrID string, o LogOptions) (io.ReadCloser, error) {
	follow, since := "", ""
	if o.Follow {
		follow = "true"
	}
	if !o.Since.IsZero() {
		since = o.Since.UTC().Format(time.RFC3339Nano)
	}
	answer, err := c.send(ctx, call{
		method: http.MethodGet, path: at("jobs", nameOrID, "logs"),
		query: params("follow", follow, "stream", o.Stream, "since", since, "tail", number(o.Tail)),
	})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

const (
	// Between looks at a job that is waited for.
	firstPoll, lastPoll = 100 * time.Millisecond, 2 * time.Second
	// absence is how long a daemon may be away, as when it is started anew.
	absence = 30 * time.Second
)

// Wait gives a job once it has ended.
func (c *Client) Wait(ctx context.Context, nameOrID string) (Job, error) {
	job, err := c.Job(ctx, nameOrID)
	if err != nil {
		return Job{}, err
	}
	id, heard := job.ID, time.Now()
	for pause := firstPoll; !job.State.Ended(); pause = min(2*pause, lastPoll) {
		select {
		case <-ctx.Done():
			return job, &poise.Error{Kind: poise.Unavailable, Op: "wait for job " + nameOrID, Err: context.Cause(ctx)}
		case <-time.After(pause):
		}
		next, err := c.Job(ctx, id)
		switch kind := poise.KindOf(err); {
		case err == nil:
			job, heard = next, time.Now()
		case kind == poise.Limit, kind == poise.Unavailable && time.Since(heard) < absence:
		default:
			return job, err
		}
	}
	return job, nil
}
