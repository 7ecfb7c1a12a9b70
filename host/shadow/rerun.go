package shadow

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Planner decides about jobs of a state that belongs to the caller, with all that
// keeps them off nodes there: quotas of pools, topologies.
type Planner interface {
	Plan(s *state.State, j *state.Job) (poise.Decision, error)
	// PlanGang decides about the members of a gang that start together.
	PlanGang(s *state.State, members []*state.Job) (sched.GangPlan, error)
}

// Rerun goes through recorded events twice: as they were, and with the jobs of
// the shadow's policy decided by it, each when it was placed in fact. A job that
// does not fit then waits, and is tried again whenever something was freed. Jobs
// of others stay where they were, or, where a job is in their way, are decided
// anew by the native policy. Tasks end when they ended in fact.
type Rerun struct {
	live, would *state.State
	shadow      Planner
	native      Planner
	mine        func(poise.TenantID) bool
	waiting     []poise.JobID // placed in fact, not here
	asks        []poise.Request
	askShapes   map[uint32]bool
	moves       Moves
}

// Moves counts what a Rerun decided.
type Moves struct {
	Decided   int // by the shadow
	Moved     int // of these, to another node than in fact, or to none
	Displaced int // jobs of others that were in the way
	Waiting   int // jobs that were placed in fact and wait here, at the end
	Placed    int // jobs that wait in fact and have a place here, at the end
}

// maxAsks bounds the device requests that stranded devices are measured by,
// maxRetries the jobs that are tried again at one event, maxLast those at the
// end.
const (
	maxAsks    = 256
	maxRetries = 32
	maxLast    = 1000
)

// NewRerun begins at a state, given twice. The caller takes live on, the Rerun
// would. The shadow's Planner is asked about jobs of tenants that mine names;
// both plan on would.
func NewRerun(live, would *state.State, mine func(poise.TenantID) bool, shadow, native Planner) *Rerun {
	return &Rerun{live: live, would: would, mine: mine, shadow: shadow, native: native, askShapes: map[uint32]bool{}}
}

// Want applies what the shadow's plugins want numbered.
func (r *Rerun) Want(w poise.SymbolsWanted) error { return r.apply(0, w) }

func (r *Rerun) apply(at poise.Time, body poise.Body) error {
	return r.would.Apply(poise.Event{Index: r.would.Index() + 1, At: at, Body: body})
}

// Follow takes in the next event, which was applied to live.
func (r *Rerun) Follow(ev poise.Event) error {
	switch b := ev.Body.(type) {
	case poise.GangPlaced:
		return r.placeGang(ev.At, &b)
	case poise.JobPlaced:
		return r.place(ev.At, &b.Placement)
	case poise.JobRequeued:
		if j := r.would.Job(b.Job); j == nil || j.Waiting() {
			return nil
		}
		if err := r.apply(ev.At, b); err != nil {
			return err
		}
		return r.retry(ev.At)
	case poise.JobHeld: // it may have a place here
		if j := r.would.Job(b.Job); j == nil || !j.Waiting() || j.Held != "" {
			return nil
		}
	case poise.JobEnding:
		if j := r.would.Job(b.Job); j == nil || j.Waiting() {
			return nil
		}
	case poise.JobReleased:
		if j := r.would.Job(b.Job); j == nil || j.Held == "" {
			return nil
		}
	case poise.JobPrioritySet:
		if r.would.Job(b.Job) == nil {
			return nil
		}
	case poise.ReservationMade, poise.ReservationEnded:
		return nil // they follow from where jobs are in fact
	case poise.JobPreempted, poise.JobSpared:
		return nil // the JobRequeued that follows is what counts
	case poise.JobFinished:
		return r.end(ev.At, b.Job)
	case poise.JobWithdrawn:
		return r.end(ev.At, b.Job)
	case poise.NodeLeft:
		return r.leave(ev.At, b)
	case poise.NodeJoined, poise.NodeChanged, poise.NodeMarked, poise.NodeOccupied, poise.NodeVacated:
		if err := r.apply(ev.At, b); err != nil {
			return err
		}
		return r.retry(ev.At)
	}
	return r.apply(ev.At, ev.Body)
}

// place decides where a job goes that was placed.
func (r *Rerun) place(at poise.Time, p *poise.Placement) error {
	j := r.would.Job(p.Job)
	if j == nil || !j.Waiting() {
		return nil
	}
	if !r.mine(j.Tenant) {
		r.note(j)
		if r.mayStay(j, p.Node) && r.apply(at, poise.JobPlaced{Placement: *p}) == nil {
			return nil
		}
		r.moves.Displaced++
	}
	node, err := r.decide(at, j)
	if err != nil {
		return err
	}
	if r.mine(j.Tenant) {
		r.moves.Decided++
		if node != p.Node {
			r.moves.Moved++
		}
	}
	if node == "" {
		r.waiting = append(r.waiting, p.Job)
	}
	return nil
}

// decide places a job by the policy that it belongs to, if it fits, and gives
// the node.
func (r *Rerun) decide(at poise.Time, j *state.Job) (string, error) {
	if !r.would.Alone(j) {
		_, err := r.decideGang(at, j)
		return r.nodeOf(j.ID), err
	}
	r.note(j)
	d, err := r.plannerOf(j).Plan(r.would, j)
	if err != nil || d.Verdict != poise.Placed {
		return "", err
	}
	return d.Node, r.apply(at, poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: d.Node, Devices: d.Devices}})
}

// plannerOf gives the policy that a job belongs to.
func (r *Rerun) plannerOf(j *state.Job) Planner {
	if r.mine(j.Tenant) {
		return r.shadow
	}
	return r.native
}

// note takes a job's device request down.
func (r *Rerun) note(j *state.Job) {
	if j.Shape.Request.Device.Count > 0 && !r.askShapes[j.Shape.ID] && len(r.asks) < maxAsks {
		r.askShapes[j.Shape.ID] = true
		r.asks = append(r.asks, j.Shape.Request)
	}
}

// end ends a job that ended in fact.
func (r *Rerun) end(at poise.Time, id poise.JobID) error {
	j := r.would.Job(id)
	switch {
	case j == nil:
		return nil
	case j.Waiting():
		r.waiting = slices.DeleteFunc(r.waiting, func(w poise.JobID) bool { return w == id })
		return r.apply(at, poise.JobWithdrawn{Job: id})
	}
	if err := r.apply(at, poise.JobFinished{Job: id}); err != nil {
		return err
	}
	return r.retry(at)
}

// leave takes a node away, and has the jobs that are on it here wait.
func (r *Rerun) leave(at poise.Time, b poise.NodeLeft) error {
	if row, ok := r.would.Row(b.Name); ok {
		for l := r.would.View().Tasks(row); l != nil; l = l.Next {
			if err := r.apply(at, poise.JobRequeued{Job: l.Task.Job}); err != nil {
				return err
			}
			if j := r.live.Job(l.Task.Job); j != nil && !j.Waiting() {
				r.waiting = append(r.waiting, j.ID)
			}
		}
	}
	if err := r.apply(at, b); err != nil {
		return err
	}
	return r.retry(at)
}

// retry tries the jobs again that have a place in fact and none here.
func (r *Rerun) retry(at poise.Time) error {
	var left []poise.JobID
	tried := map[*state.Gang]bool{}
	for i, id := range r.waiting {
		j := r.would.Job(id)
		if j == nil || !j.Waiting() || j.Blocked() {
			continue
		}
		if i < maxRetries && r.stands(j, tried) {
			if node, err := r.decide(at, j); err != nil || node != "" {
				if err != nil {
					return err
				}
				continue
			}
		}
		left = append(left, id)
	}
	r.waiting = left
	return nil
}

// Finish tries the jobs that wait in fact, too, and measures both fleets.
func (r *Rerun) Finish(at poise.Time) (live, would Fleet, moves Moves, err error) {
	var more []poise.JobID
	for _, j := range r.would.Waiting() {
		if r.mine(j.Tenant) && !j.Blocked() && !slices.Contains(r.waiting, j.ID) && len(more) < maxLast {
			more = append(more, j.ID)
		}
	}
	tried := map[*state.Gang]bool{}
	for _, id := range more {
		if j := r.would.Job(id); j.Waiting() && r.stands(j, tried) {
			if _, err := r.decide(at, j); err != nil {
				return live, would, moves, err
			}
		}
	}
	for _, id := range more {
		if !r.would.Job(id).Waiting() {
			r.moves.Placed++
		}
	}
	moves = r.moves
	moves.Waiting = len(r.waiting)
	if live, err = Measure(r.live.View(), r.asks); err == nil {
		would, err = Measure(r.would.View(), r.asks)
	}
	return live, would, moves, err
}
