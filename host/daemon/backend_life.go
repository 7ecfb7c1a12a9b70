package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/store"
)

// changeJobs does something to those jobs of a target that have not ended, and gives
// the job, or the array, as it is then.
func (d *Daemon) changeJobs(ctx context.Context, tenant poise.TenantID, nameOrID, what string, f func(*core, []*liveJob) error) (client.Job, error) {
	t, err := d.target(ctx, tenant, nameOrID)
	if err != nil {
		return client.Job{}, err
	}
	err = d.durably(ctx, func(c *core) error {
		var jobs []*liveJob
		for _, id := range t.ids() {
			if live := c.jobs[id]; live != nil {
				jobs = append(jobs, live)
			}
		}
		if len(jobs) == 0 {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("%s job %q", what, nameOrID), Detail: "it has ended, expected one that has not"}
		}
		return f(c, jobs)
	})
	if err != nil {
		return client.Job{}, err
	}
	if t.whole {
		return d.Job(ctx, tenant, t.rows[0].Group)
	}
	return d.Job(ctx, tenant, t.rows[0].ID)
}

// Hold implements api.Backend. Of an array it holds the elements that wait.
func (d *Daemon) Hold(ctx context.Context, tenant poise.TenantID, nameOrID, by string) (client.Job, error) {
	return d.changeJobs(ctx, tenant, nameOrID, "hold", func(c *core, jobs []*liveJob) error {
		if !slices.ContainsFunc(jobs, func(live *liveJob) bool { return live.place.ID == "" }) {
			_, err := c.hold(jobs[0], by)
			return err
		}
		c.actOn(client.HoldJobs, jobs, by)
		return nil
	})
}

// Release implements api.Backend.
func (d *Daemon) Release(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	return d.changeJobs(ctx, tenant, nameOrID, "release", func(c *core, jobs []*liveJob) error {
		c.actOn(client.ReleaseJobs, jobs, "")
		return nil
	})
}

// SetPriority implements api.Backend.
func (d *Daemon) SetPriority(ctx context.Context, tenant poise.TenantID, nameOrID string, priority int32, by string) (client.Job, error) {
	return d.changeJobs(ctx, tenant, nameOrID, "set the priority of", func(c *core, jobs []*liveJob) error {
		for _, live := range jobs {
			c.setPriority(live, priority, by)
		}
		return nil
	})
}

// Sweep implements api.Backend.
func (d *Daemon) Sweep(ctx context.Context, tenant poise.TenantID, action client.JobAction, selectors []poise.Selector, by string) (client.Swept, error) {
	n := 0
	err := d.durably(ctx, func(c *core) error {
		n = c.sweep(action, tenant, selectors, by)
		return nil
	})
	if err != nil { // the loop may still write to it
		return client.Swept{}, err
	}
	return client.Swept{Jobs: n}, nil
}

// runs adds the tasks of a job that have ended.
func (d *Daemon) runs(ctx context.Context, j *client.Job) error {
	places, err := d.store.Placements(ctx, j.ID)
	if err != nil {
		return err
	}
	for i := range slices.Backward(places) {
		p := &places[i]
		if p.Ended == 0 {
			continue
		}
		r := runView(p)
		if (r.State == client.Failed || r.State == client.Lost) && (p.Started > 0 || p.ExitCode != nil) {
			j.Failures++
		}
		if len(j.Runs) < client.MaxRuns {
			j.Runs = append(j.Runs, r)
		}
	}
	return nil
}

func runView(p *store.PlacementRow) client.Run {
	return client.Run{
		Placement: p.ID, Node: p.Node, State: client.JobState(p.State), Started: client.At(poise.Time(p.Started)), Ended: client.At(poise.Time(p.Ended)),
		ExitCode: p.ExitCode, Signal: p.Signal, Detail: p.Detail,
	}
}

// cancelAll withdraws the elements of an array that wait, and has those stopped that
// run.
func (d *Daemon) cancelAll(ctx context.Context, tenant poise.TenantID, t *target) (client.Job, error) {
	err := d.durably(ctx, func(c *core) error {
		var jobs []*liveJob
		for _, id := range slices.Backward(t.ids()) {
			if live := c.jobs[id]; live != nil {
				jobs = append(jobs, live)
			}
		}
		c.actOn(client.CancelJobs, jobs, "")
		return nil
	})
	if err != nil {
		return client.Job{}, err
	}
	return d.Job(ctx, tenant, t.rows[0].Group)
}

// orderOf gives what the place of a waiting job comes from.
func (c *core) orderOf(live *liveJob) *client.Order {
	j := c.loop.State().Job(live.spec.Job.ID)
	if !j.Waiting() {
		return nil
	}
	item := queue.Item{Priority: j.Priority, Submitted: j.Submitted, Size: queue.SizeOf(&j.Shape.Request), Seq: j.Seq}
	e := c.loop.Order().Effective(&item, c.now())
	return &client.Order{
		Level: e.Level, Priority: e.Priority, Age: e.Age, Devices: e.Size.Devices, CPU: e.Size.CPU, Memory: e.Size.Memory, Arrival: e.Arrival,
	}
}
