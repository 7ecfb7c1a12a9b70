package shadow

import (
	"github.com/poise-sched/poise/host/poise"
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

// decideGang starts the gang of a job if all members that start together fit, each
// decided by the policy that it belongs to, beside those before it, and says whether
// they do. Topologies are not looked at.
func (r *Rerun) decideGang(at poise.Time, j *state.Job) (starts bool, err error) {
	g := r.would.GangOf(j)
	if !g.Ready() {
		return false, nil
	}
	plan := r.native
	if r.mine(j.Tenant) {
		plan = r.shadow
	}
	trial := state.NewTrial(r.would.View(), &r.tentative)
	var body poise.GangPlaced
	for _, m := range g.Core() {
		r.note(m)
		d, err := plan(trial.View(), m)
		if err != nil || d.Verdict != poise.Placed {
			return false, err
		}
		row, _ := r.would.Row(d.Node)
		if err := trial.Place(m, row, d.Devices); err != nil {
			return false, err
		}
		body.Placements = append(body.Placements, poise.Placement{Job: m.ID, Node: d.Node, Devices: d.Devices})
	}
	return true, r.apply(at, body)
}

// nodeOf gives the node on which a job runs here, "" for none.
func (r *Rerun) nodeOf(id poise.JobID) string {
	j := r.would.Job(id)
	if j == nil || j.Waiting() {
		return ""
	}
	return j.Task().Node(r.would.View())
}
