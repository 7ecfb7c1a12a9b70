package loop

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// retries is how often a decision that a change of its node overtook is made
// again before the failure rule decides.
const retries = 2

// Overtaken is the fault of a decision that changes overtook more often than that.
const Overtaken = "the node that was chosen changed three times in a row"

// Work is one job to be planned. Plan may run on any goroutine if Away; the job
// and the snapshot do not change meanwhile.
type Work struct {
	Job   state.Job
	Away  bool
	Index uint64 // of the last event that the snapshot has seen

	lane    *lane
	item    queue.Item
	snap    *state.Snapshot
	bars    []sched.Bar // as of the snapshot
	now     poise.Time  // when the snapshot was taken
	attempt int

	members  []*state.Job // of a gang that is to start, copied; nil for a single job
	plan     sched.GangPlan
	decision poise.Decision
	err      error
}

// Next gives the next job to plan at this time, or nil where none may be tried
// or every lane that has one is busy or rests. The tenant whose turn it is goes
// first, see turn.
func (l *Loop) Next(now poise.Time) *Work {
	l.tryReserved(now)
	first := l.first(now)
	if first == nil {
		return nil
	}
	item, _ := first.queue.Pop(now)
	w := l.work(first.lane, item, 0, now)
	if miss := l.state.OverQuota(Asks(l.state, l.state.Job(item.Job))); miss != nil {
		w.Away, w.decision = false, w.lane.pipeline.OverQuota(w.snap, &w.Job, now, miss)
	}
	return w
}

// work begins to plan a job.
func (l *Loop) work(lane *lane, item queue.Item, attempt int, now poise.Time) *Work {
	w := &Work{Job: *l.state.Job(item.Job), Away: lane.away, Index: l.state.Index(), lane: lane, item: item, now: now, attempt: attempt}
	if w.snap = l.state.View(); lane.away {
		w.snap = l.state.Snapshot()
	}
	w.bars = Bars(l.state, w.snap, l.state.Job(item.Job), now)
	l.gangWork(w)
	lane.work, l.planned[w.Job.ID] = w, true
	return w
}

// Plan makes the decision, in as much detail as asked for.
func (w *Work) Plan(detail sched.Detail) {
	if w.decision.Verdict == poise.OverQuota {
		return
	}
	pass := sched.Pass{Now: w.now, Detail: detail, Bars: w.bars}
	if w.members != nil {
		w.planGang(pass)
		return
	}
	w.decision, w.err = w.lane.pipeline.Plan(w.snap, &w.Job, pass)
}

// Try plans a job that is not queued, as of now, and changes nothing. A lane that plans
// elsewhere is not waited for.
func (l *Loop) Try(j *state.Job, now poise.Time, detail sched.Detail) (poise.Decision, error) {
	lane, err := l.laneOf(j)
	if err != nil {
		return poise.Decision{}, err
	}
	if miss := l.state.OverQuota(j); miss != nil {
		return lane.pipeline.OverQuota(l.state.View(), j, now, miss), nil
	}
	if err := lane.busy(); err != nil {
		return poise.Decision{}, err
	}
	return lane.pipeline.Plan(l.state.View(), j, sched.Pass{Now: now, Detail: detail, Bars: Bars(l.state, l.state.View(), j, now)})
}

// busy is the error of a lane that plans something now.
func (l *lane) busy() error {
	if l.work == nil {
		return nil
	}
	return &poise.Error{Kind: poise.Unavailable, Op: "plan", Detail: "the policy is at work on another job, expected to be asked again"}
}

// Settled is what became of a piece of work.
type Settled struct {
	// Events come of the outcome: they are to be applied and recorded next, in this
	// order, before the placement.
	Events   []poise.Body
	Decision poise.Decision // that was made, whatever became of it
	// Members are the decisions about the members of a gang that is to be placed, by
	// index: Decision is the first of them. The caller applies GangPlaced then.
	Members []poise.Decision
	Dropped bool  // the job is gone or held, or its lane has another policy now, or it another priority
	Again   *Work // planned anew: the node that was chosen has changed
	// Voided is what plugins used for an answer that Decision is not made of: it was
	// overtaken once too often.
	Voided []poise.PluginUse
}

// Settle ends a piece of work whose Plan has run. Where the decision is to place
// the job, the caller applies and records JobPlaced, or GangPlaced, next, before
// anything else.
func (l *Loop) Settle(w *Work, now poise.Time, detail sched.Detail) (Settled, error) {
	w.lane.work = nil
	l.round.valid = l.round.valid && !w.lane.away // its tenants had no turn meanwhile
	delete(l.planned, w.item.Job)
	w.lane.useIndex()
	j := l.state.Job(w.item.Job)
	if j == nil || !j.Waiting() {
		l.round.valid = false // the lane is free for others
		return Settled{Decision: w.decision, Dropped: true}, nil
	}
	of, err := l.listOf(j)
	if err != nil {
		return Settled{}, err
	}
	switch {
	case of.lane != w.lane, l.stale(w, j):
		l.shapes.forget(j)
		l.round.valid = false
		return Settled{Decision: w.decision, Dropped: true}, l.push(j)
	case w.err != nil:
		l.round.valid = false
		if err := of.queue.Park(w.item, ^queue.Causes(0), w.Index, now); err != nil {
			return Settled{}, err
		}
		return Settled{}, w.err
	}
	d, seen := w.decision, w.Index
	if miss := l.state.OverQuota(Asks(l.state, j)); d.Verdict == poise.Placed && miss != nil { // others were placed meanwhile
		seen, d = l.state.Index(), w.lane.pipeline.OverQuota(l.state.View(), j, now, miss)
	}
	var voided []poise.PluginUse
	if d.Verdict == poise.Placed && l.overtaken(w, j, now) {
		if w.attempt < retries {
			return Settled{Decision: d, Again: l.work(w.lane, w.item, w.attempt+1, now)}, nil
		}
		var err error
		seen, voided = l.state.Index(), w.decision.Plugins
		if d, err = l.fail(w, j, sched.Pass{Now: now, Detail: detail, Bars: Bars(l.state, l.state.View(), j, now)}); err != nil {
			return Settled{}, err
		}
	}
	if d.Verdict != poise.Placed {
		l.starve(j, &d, now)
		events, has := l.reserve(w, j, &d, now)
		err := l.park(of, w, j, &d, has, seen, now)
		l.round.parked(l, of, w, now)
		return Settled{Events: events, Decision: d, Voided: voided}, err
	}
	return Settled{Decision: d, Members: w.plan.Members, Voided: voided}, nil
}

// fail decides by the failure rule about work that changes overtook.
func (l *Loop) fail(w *Work, j *state.Job, pass sched.Pass) (d poise.Decision, err error) {
	if w.members != nil {
		w.plan, err = w.lane.pipeline.FailGang(l.state.View(), w.members, pass, Overtaken)
		return w.plan.Decision, err
	}
	return w.lane.pipeline.Fail(l.state.View(), j, pass, Overtaken)
}

// overtaken says whether a node that was chosen has changed since, or the job may
// not be there any more.
func (l *Loop) overtaken(w *Work, j *state.Job, now poise.Time) bool {
	if !w.Away {
		return false
	}
	if w.members != nil {
		return l.overtakenGang(w, j, now)
	}
	row, ok := l.state.Row(w.decision.Node)
	return !ok || !l.unchanged(w, row) || barred(Bars(l.state, l.state.View(), j, now), row)
}
