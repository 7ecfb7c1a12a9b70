package daemon

import (
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// reservedFor gives what is kept for a job, or for the gang that it starts with, nil for
// nothing.
func (c *core) reservedFor(live *liveJob) *client.Reservation {
	job := c.loop.State().Job(live.spec.Job.ID)
	all := c.loop.State().View().Reservations()
	i := slices.IndexFunc(all, func(r *state.Reservation) bool { return job != nil && r.For(job) })
	if i < 0 {
		return nil
	}
	view := &client.Reservation{Start: client.At(all[i].Start)}
	told := map[string]bool{}
	for k := range all[i].Holds {
		if node := all[i].Holds[k].Node; !told[node] {
			told[node] = true
			view.Nodes = append(view.Nodes, node)
		}
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
