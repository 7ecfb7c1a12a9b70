package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// waitsWith gives the gang with which a job waits to start, nil where it waits by
// itself.
func (l *Loop) waitsWith(j *state.Job) *state.Gang {
	if l.state.Alone(j) {
		return nil
	}
	return l.state.GangOf(j)
}

// pushGang queues a gang that is ready to start: its first member stands for all.
func (l *Loop) pushGang(g *state.Gang) error {
	head := g.Head()
	if !g.Ready() || l.planned[head.ID] {
		return nil
	}
	of, err := l.listOf(head)
	if err != nil {
		return err
	}
	if of.queue.Holds(head.ID) {
		return nil
	}
	item := queue.Item{Job: head.ID, Shape: l.shapes.gang(head, of.lane), Priority: head.Priority, Submitted: head.Submitted, Seq: head.Seq}
	last := head
	for _, j := range g.Core() {
		size := queue.SizeOf(&j.Shape.Request)
		item.Size.Add(&size)
		item.Submitted = min(item.Submitted, j.Submitted)
		if j.NotBefore > last.NotBefore {
			last = j
		}
	}
	return of.add(item, last, l.hold())
}

// gangOf gives the gang that an event changes, as it is before it.
func (l *Loop) gangOf(body poise.Body) *state.Gang {
	var id poise.JobID
	switch b := body.(type) {
	case poise.GangPlaced:
		if len(b.Placements) > 0 {
			id = b.Placements[0].Job
		}
	case poise.JobHeld:
		id = b.Job
	case poise.JobWithdrawn:
		id = b.Job
	case poise.JobFinished:
		id = b.Job
	case poise.JobRequeued:
		id = b.Job
	case poise.JobSpared:
		id = b.Job
	}
	if j := l.state.Job(id); j != nil {
		return l.state.GangOf(j)
	}
	return nil
}

// regroup queues what waits of a gang as it waits now: as a whole, or member by
// member.
func (l *Loop) regroup(g *state.Gang) error {
	if g == nil {
		return nil
	}
	for _, j := range g.Members() {
		if l.planned[j.ID] { // Settle does
			continue
		}
		l.unlist(j)
		l.shapes.forget(j) // also of one that runs: it may wait by itself next
		if !j.Waiting() {
			continue
		}
		if g.Started {
			if err := l.push(j); err != nil {
				return err
			}
		}
	}
	if g.Started || len(g.Members()) == 0 {
		return nil
	}
	return l.pushGang(g)
}

// gangWork makes a piece of work one that plans the gang of its job.
func (l *Loop) gangWork(w *Work) {
	g := l.waitsWith(l.state.Job(w.item.Job))
	if g == nil {
		return
	}
	core := g.Core()
	w.members = make([]*state.Job, len(core))
	for i, m := range core {
		copied := *m
		w.members[i] = &copied
	}
}

// Asks gives what placing a waiting job takes from its tenant's quota: with it goes
// its gang, where that waits.
func Asks(s *state.State, j *state.Job) *state.Job {
	if s.Alone(j) {
		return j
	}
	return state.Sum(s.GangOf(j).Core())
}

// planGang plans a gang.
func (w *Work) planGang(pass sched.Pass) {
	w.plan, w.err = w.lane.pipeline.PlanGang(w.snap, w.members, pass)
	w.decision = w.plan.Decision
}

// overtakenGang is overtaken for a gang.
func (l *Loop) overtakenGang(w *Work, j *state.Job, now poise.Time) bool {
	view := l.state.View()
	bars, rows := pooled(l.state, view, j), make([]uint32, len(w.members))
	for i := range w.plan.Members {
		row, ok := l.state.Row(w.plan.Members[i].Node)
		if !ok || !l.unchanged(w, row) || barred(bars, row) {
			return true
		}
		rows[i] = row
	}
	return sched.GangDelays(view, w.members, w.plan.Members, rows, now)
}

// TryGang plans a gang that is not queued, as Try does a job.
func (l *Loop) TryGang(members []*state.Job, now poise.Time, detail sched.Detail) (sched.GangPlan, error) {
	lane, err := l.laneOf(members[0])
	if err != nil {
		return sched.GangPlan{}, err
	}
	core := slices.DeleteFunc(slices.Clone(members), (*state.Job).Extra)
	if miss := l.state.OverQuota(state.Sum(core)); miss != nil {
		return sched.GangPlan{Decision: lane.pipeline.OverQuota(l.state.View(), core[0], now, miss)}, nil
	}
	if err := lane.busy(); err != nil {
		return sched.GangPlan{}, err
	}
	return lane.pipeline.PlanGang(l.state.View(), core, sched.Pass{Now: now, Detail: detail, Bars: Bars(l.state, l.state.View(), state.Sum(core), now)})
}

// adopted queues a job that an earlier history submitted. Where it runs, those of its
// gang that wait follow one by one.
func (l *Loop) adopted(j *state.Job) error {
	if j.Waiting() {
		return l.push(j)
	}
	l.hungry.fresh = true
	g := l.state.GangOf(j)
	if g == nil || len(g.Running()) == len(g.Members()) {
		return nil
	}
	return l.regroup(g)
}
