package daemon

import (
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// reservedFor gives what is kept for a job, nil for nothing.
func (c *core) reservedFor(live *liveJob) *client.Reservation {
	r := c.loop.State().View().Reservation(live.spec.Job.ID)
	if r == nil {
		return nil
	}
	view := &client.Reservation{Start: client.At(r.Start)}
	for i := range r.Holds {
		view.Nodes = append(view.Nodes, r.Holds[i].Node)
	}
	return view
}

// behind gives the jobs for which nodes are kept from a job, nil where none are:
// those of its tenant by name, others by number and, for operators, by name.
func (c *core) behind(live *liveJob, d *poise.Decision) *client.Behind {
	kept := false
	if d != nil {
		for _, r := range d.Reasons {
			kept = kept || r.Code() == poise.Reserved
		}
	}
	if !kept {
		return nil
	}
	job := c.loop.State().Job(live.spec.Job.ID)
	b := &client.Behind{}
	for _, r := range c.loop.State().View().Reservations() {
		switch other := c.jobs[r.Job]; {
		case job != nil && r.For(job):
		case r.Tenant == live.spec.Job.Tenant && other != nil:
			b.Jobs = append(b.Jobs, other.spec.Job.Name)
		default:
			b.Others++
			if other != nil {
				b.Whose = append(b.Whose, string(r.Tenant)+"/"+other.spec.Job.Name)
			}
		}
	}
	return b
}
