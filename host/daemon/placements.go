package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// maxBinds is how often a task is tried to be started where it was placed. The
// node stays taken meanwhile. Then the job waits again.
const maxBinds = 3

// binder starts and ends tasks on a node.
type binder interface {
	Bind(ctx context.Context, b engine.Binding) error
	Evict(ctx context.Context, placement string, grace poise.Span) error
	Forget(ctx context.Context, placement string) error
}

// place commits a decision.
func (c *core) place(live *liveJob, d *poise.Decision, snapshot uint64) error {
	err := c.event(poise.JobPlaced{Placement: poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}})
	if err != nil {
		return fmt.Errorf("commit the decision about job %q: %w", d.Job, err)
	}
	index := c.loop.State().Index()
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	c.batch.Decisions = append(c.batch.Decisions, store.DecisionRow{
		Seq: index, Job: live.row.ID, Tenant: live.row.Tenant, Node: d.Node, Policy: d.Policy, At: int64(c.at), Snapshot: snapshot, Commit: index, Body: body,
	})
	c.start(live, d, c.placementID(fmt.Sprintf("p%d", index), &live.spec), index)
	return nil
}

// engineOf gives the engine of a present node.
func (c *core) engineOf(node string) binder {
	row, _ := c.loop.State().Row(node)
	return c.engines(c.loop.State().View().Cluster(row))
}

// binding is what an engine gets to know of a placed job.
func (j *liveJob) binding() engine.Binding {
	job := &j.spec.Job
	b := engine.Binding{
		Placement: j.place.ID, Job: job.ID, Name: job.Name, Tenant: job.Tenant, Node: j.place.Node, Devices: j.place.Devices,
		DeviceKind: job.Request.Device.Kind, Command: j.spec.Command, Env: j.spec.Env, Marks: j.spec.Array.marks(), Dir: j.spec.Dir,
		Amounts: job.Request.Amounts, RunTime: job.RunTime, Grace: grace, Image: j.spec.Image, Begun: j.place.State == stateRunning,
		Tolerations: job.Tolerations,
	}
	if j.spec.inPod() {
		b.Notes, b.Labels = j.notes(), job.Labels
	}
	if g := job.Gang; g != nil {
		b.Gang, b.TaskIndex, b.Tasks = g.ID, g.Index, g.Size
	}
	return b
}

// bind has a task started once its placement is durable, unless it is over by
// then.
func (c *core) bind(live *liveJob) {
	e, b, over := live.engine, live.binding(), live.over
	c.then(func() {
		c.handsOf(e).do(b.Placement, func() {
			if over.Load() {
				return
			}
			if err := e.Bind(context.Background(), b); err != nil {
				c.log.Warn("bind", "placement", b.Placement, "job", b.Job, "node", b.Node, "error", err)
				c.tell(func(c *core) { c.unbound(b.Placement, err) })
			}
		})
	}, nil)
}

// handsOf gives who asks an engine.
func (c *core) handsOf(e binder) doer {
	if k, ok := e.(*kubeCluster); ok {
		return k.hands
	}
	return c.hands
}

// placed gives the job that a placement is of, nil where it is over.
func (c *core) placed(placement string) *liveJob { return c.jobs[c.byPlace[placement]] }

// unbound takes note that a task could not be started.
func (c *core) unbound(placement string, cause error) {
	live := c.placed(placement)
	if live == nil {
		return
	}
	live.unbound++
	switch {
	case live.spec.Job.Pod != nil && (poise.KindOf(cause) == poise.NotFound || poise.KindOf(cause) == poise.Conflict):
		c.podUnbound(live, cause)
	case live.stop != "":
		c.stopSurely(placement, 1)
	case poise.KindOf(cause) == poise.Invalid, poise.KindOf(cause) == poise.Denied:
		c.end(live, stateFailed, nil, cause.Error())
	case live.unbound%maxBinds != 0:
		c.after(retryOf(live.engine, c.retryIn(live.unbound)), func() {
			c.tell(func(c *core) {
				if live := c.placed(placement); live != nil {
					c.bind(live)
				}
			})
		})
	default:
		// It may have begun all the same. Who does not know it will not run it.
		e := live.engine
		c.handsOf(e).do(placement, func() {
			if err := disown(e, placement); poise.KindOf(err) == poise.NotFound {
				c.tell(func(c *core) { c.giveUp(placement, cause) })
			} else if err != nil {
				c.tell(func(c *core) { c.unbound(placement, cause) })
			}
		})
	}
}

// retryIn is how long the next bind is put off after so many that failed.
func (c *core) retryIn(failed int) time.Duration {
	d := c.retryBase
	for range failed - 1 {
		if d = min(2*d, c.retryMax); d == c.retryMax {
			break
		}
	}
	return d
}

// giveUp makes a job wait again that its engine does not start.
func (c *core) giveUp(placement string, cause error) {
	live := c.placed(placement)
	switch {
	case live == nil:
	case live.stop != "":
		c.end(live, stateFailed, nil, live.stop)
	default:
		c.requeue(live, cause.Error())
		c.resumePod(live)
	}
}

// requeue makes a placed job wait again.
func (c *core) requeue(live *liveJob, reason string) {
	if err := c.event(poise.JobRequeued{Job: live.spec.Job.ID}); err != nil {
		panic(fmt.Sprintf("BUG: a placed job cannot wait again: %v", err))
	}
	c.leavePlace(live, stateLost)
	live.row.State, live.row.Node, live.row.Reason = stateWaiting, "", reason
	c.keep(live)
}

// leavePlace ends the placement of a job.
func (c *core) leavePlace(live *liveJob, state string) {
	if live.place.Ended == 0 {
		live.place.State, live.place.Ended = state, int64(c.at)
		c.batch.Placements = append(c.batch.Placements, live.place)
	}
	live.over.Store(true)
	delete(c.byPlace, live.place.ID)
	live.place, live.engine = store.PlacementRow{}, nil
}

// status takes in what an engine says of a task.
func (c *core) status(from binder, s engine.Status) {
	live := c.placed(s.Placement)
	if live == nil && c.adopting.placed[s.Placement] != nil {
		return // it is asked for when the job is taken over
	}
	if live == nil {
		if _, pods := from.(*kubeCluster); pods && !s.State.Ended() {
			return // a pod that this history does not know is no stray: it occupies its node, see podBound
		}
		if s.State.Ended() {
			c.forget(from, s.Placement)
		} else { // a task of no job: its placement is over, or was never committed
			c.evict(from, s.Placement, grace, func(error) {})
		}
		return
	}
	if s.State == engine.Starting {
		return
	}
	live.unbound = 0
	was := live.place
	live.place.Started, live.place.Ended, live.place.State = int64(s.Started), int64(s.Ended), s.State.String()
	if s.State == engine.Running {
		if live.place.State != was.State || live.place.Started != was.Started {
			c.batch.Placements = append(c.batch.Placements, live.place)
		}
		if live.row.State == stateStarting {
			live.row.State = stateRunning
			c.keep(live)
		}
		return
	}
	if c.gaveWay(live, &s) {
		live.place.State = stateDisplaced
		c.batch.Placements = append(c.batch.Placements, live.place)
		c.displaced(live)
		c.forget(from, s.Placement)
		return
	}
	state, code, reason := stateFailed, s.ExitCode, s.Detail
	switch {
	case s.State == engine.Succeeded:
		state = stateSucceeded
	case live.stop != "":
		reason = live.stop
	case s.State == engine.Lost:
		state = stateLost
	}
	live.row.Signal = s.Signal
	live.place.ExitCode, live.place.Signal, live.place.Detail = &code, s.Signal, reason
	c.batch.Placements = append(c.batch.Placements, live.place)
	if !c.retry(live, state, &code, reason) {
		c.end(live, state, &code, reason)
	}
	c.forget(from, s.Placement)
}

// end finishes a job for good.
func (c *core) end(live *liveJob, state string, code *int32, reason string) {
	id := live.spec.Job.ID
	var body poise.Body = poise.JobFinished{Job: id}
	if live.place.ID == "" {
		body = poise.JobWithdrawn{Job: id}
	}
	later, others := c.loop.State().Later(id), c.beside(live)
	if err := c.event(body); err != nil {
		panic(fmt.Sprintf("BUG: a known job cannot end: %v", err))
	}
	if live.place.ID != "" {
		c.leavePlace(live, state)
	}
	live.row.State, live.row.ExitCode, live.row.Reason = state, code, reason
	c.keep(live)
	c.metrics.JobFinished(live.row.Tenant, state)
	waited, name := c.comesAfter(id), live.row.Name
	delete(c.jobs, id)
	delete(c.silent, id)
	if code == nil { // no task of it was seen to end
		c.podCancelled(live, reason)
	}
	for _, other := range others {
		c.end(other, stateWithdrawn, nil, fmt.Sprintf("its gang cannot start without job %s: %s", live.row.Name, reason))
	}
	for _, next := range later {
		live := c.jobs[next]
		if live == nil {
			continue
		}
		if why := live.spec.unmet(id, name, state); why != "" {
			c.end(live, stateWithdrawn, nil, why)
		} else if live.row.Reason == waited {
			live.row.Reason = c.waitsFor(live)
			c.keep(live)
		}
	}
}

// forget lets an engine drop a task whose end is durable.
func (c *core) forget(e binder, placement string) {
	c.then(func() {
		c.handsOf(e).do(placement, func() {
			if err := e.Forget(context.Background(), placement); err != nil {
				c.log.Warn("forget", "placement", placement, "error", err)
			}
		})
	}, nil)
}

// evict has a task ended, after its bind, and gives the engine's answer.
func (c *core) evict(e binder, placement string, grace poise.Span, answer func(error)) {
	c.then(func() {
		c.handsOf(e).do(placement, func() { answer(e.Evict(context.Background(), placement, grace)) })
	}, answer)
}

// cancel withdraws a job that waits and stops one that runs.
func (c *core) cancel(id poise.JobID, answer func(error)) {
	if err := c.store.Stalled(); err != nil {
		answer(err)
		return
	}
	live := c.jobs[id]
	if r := c.adopting.awaited[id]; r != nil {
		answer(&poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("cancel job %q", id), Detail: r.notRead()})
		return
	}
	if live == nil {
		answer(&poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("cancel job %q", id), Detail: "it has ended, expected a job that waits or runs"})
		return
	}
	if live.place.ID == "" {
		c.end(live, stateWithdrawn, nil, cancelled)
		c.then(func() { answer(nil) }, answer)
		return
	}
	c.toStop(live, cancelled)
	placement := live.place.ID
	c.stop(live, func(err error) {
		answer(err)
		if err != nil { // it is to end all the same, as after a restart
			c.after(c.retryIn(1), func() { c.tell(func(c *core) { c.stopSurely(placement, 2) }) })
		}
	})
}

// stop has the task of a job ended that is to end. One that its engine does not know
// never began, or went with the engine.
func (c *core) stop(live *liveJob, answer func(error)) {
	placement := live.place.ID
	c.evict(live.engine, placement, grace, func(err error) {
		if err == nil || poise.KindOf(err) != poise.NotFound {
			answer(err)
			return
		}
		c.tell(func(c *core) {
			if live := c.placed(placement); live != nil {
				c.end(live, stateFailed, nil, live.stop)
			}
			c.then(func() { answer(nil) }, answer)
		})
	})
}

// resume takes up the jobs of a recovered state, under the policy in force.
func (c *core) resume() error {
	if err := c.loop.Fill(); err != nil {
		return err
	}
	c.rebind()
	return nil
}

// rebind binds the tasks of all jobs that were placed before a restart: whoever
// knows the placement does not start it twice. The tasks of the sim engine begin
// anew.
func (c *core) rebind() {
	for _, j := range c.loop.State().All() {
		if j.Waiting() {
			continue
		}
		live := c.jobs[j.ID]
		live.engine, live.over = c.engineOf(live.place.Node), new(atomic.Bool)
		if e, ok := live.engine.(*external); ok {
			// Before anyone can ask: what an executor is not told of is over, to it.
			if err := e.Bind(context.Background(), live.binding()); err != nil {
				panic(fmt.Sprintf("BUG: a task is not assigned again: %v", err))
			}
		}
		if live.stop != "" {
			c.stopSurely(live.place.ID, 1)
			continue
		}
		if j.Yielding() {
			c.giveWay(live)
			continue
		}
		c.bind(live)
	}
}

// placementID gives the id of a placement, by a text that none of this history has.
// A pod keeps it for good, so it has the job's id in it, which is the pod's uid where
// the pod is the job: another history may count as this one.
func (c *core) placementID(text string, s *Spec) string {
	if c.home != nil { // which other histories write to
		text = fmt.Sprintf("t%d%s", c.home.Term(), text)
	}
	if s.inPod() {
		return text + "-" + string(s.Job.ID)
	}
	return text
}

// classOf gives the class of a present node, "" where it has none.
func (c *core) classOf(node string) string {
	row, _ := c.loop.State().Row(node)
	class, _ := poise.LabelValue(c.loop.State().View().Labels(row), poise.ClassLabel)
	return class
}
