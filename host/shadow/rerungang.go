package shadow

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// placeGang decides where a gang goes that was started.
func (r *Rerun) placeGang(at poise.Time, b *poise.GangPlaced) error {
	first := r.would.Job(b.Placements[0].Job)
	switch {
	case first == nil:
		return nil
	case r.would.Alone(first): // it has started here before
		for i := range b.Placements {
			if err := r.place(at, &b.Placements[i]); err != nil {
				return err
			}
		}
		return nil
	case !r.mine(first.Tenant):
		if r.apply(at, *b) == nil {
			return nil
		}
		r.moves.Displaced += len(b.Placements)
	}
	starts, err := r.decideGang(at, first)
	if err != nil {
		return err
	}
	for i := range b.Placements {
		p := &b.Placements[i]
		if !starts {
			r.waiting = append(r.waiting, p.Job)
		}
		if !r.mine(first.Tenant) {
			continue
		}
		r.moves.Decided++
		if r.nodeOf(p.Job) != p.Node {
			r.moves.Moved++
		}
	}
	return nil
}

// decideGang starts the gang of a job by the policy that it belongs to, if all
// members that start together have a place, and says whether they do.
func (r *Rerun) decideGang(at poise.Time, j *state.Job) (starts bool, err error) {
	g := r.would.GangOf(j)
	if !g.Ready() {
		return false, nil
	}
	core := g.Core()
	for _, m := range core {
		r.note(m)
	}
	plan, err := r.plannerOf(j).PlanGang(r.would, core)
	if err != nil || plan.Members == nil {
		return false, err
	}
	var body poise.GangPlaced
	for i := range plan.Members {
		d := &plan.Members[i]
		body.Placements = append(body.Placements, poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices})
	}
	return true, r.apply(at, body)
}

// mayStay says whether a job may go where it went in fact, beside members of its gang
// that went elsewhere here.
func (r *Rerun) mayStay(j *state.Job, node string) bool {
	if !r.would.Alone(j) || j.Gang == nil || j.Gang.Topology == nil {
		return true
	}
	row, ok := r.would.Row(node)
	return ok && sched.Beside(r.would.View(), j, r.would.Beside(j)).Refuses(row) == 0
}

// nodeOf gives the node on which a job runs here, "" for none.
func (r *Rerun) nodeOf(id poise.JobID) string {
	j := r.would.Job(id)
	if j == nil || j.Waiting() {
		return ""
	}
	return j.Task().Node(r.would.View())
}

// stands says whether the job is to be tried: of a gang that waits to start the first
// member that is asked about stands for all.
func (r *Rerun) stands(j *state.Job, tried map[*state.Gang]bool) bool {
	if r.would.Alone(j) {
		return true
	}
	g := r.would.GangOf(j)
	if tried[g] {
		return false
	}
	tried[g] = true
	return true
}
