package sim

import (
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// course is a world in virtual time: its clock, and its tasks as they start and
// end. A replay adds arrivals, a forecast has none.
type course struct {
	*World
	now   poise.Time
	tasks tasks
	took  map[poise.JobID]poise.Span // of jobs that run otherwise than they declare
	see   watcher
}

// watcher is told what happens in a course.
type watcher interface {
	happened(ev poise.Event)
	attempted(s *loop.Settled)
	started(j *state.Job, t *task)
	stopped(id poise.JobID, tenant poise.TenantID, t *task)
	missed(j *state.Job, at poise.Time) // its deadline
}

func newCourse(w *World, now poise.Time, see watcher) *course {
	c := &course{World: w, now: now, tasks: newTasks(), took: map[poise.JobID]poise.Span{}, see: see}
	w.events = c.follow
	return c
}

// next gives when something happens next by time alone.
func (c *course) next() (poise.Time, bool) {
	at, ok := c.loop.NextDue(c.now)
	at = max(at, c.now)
	if end, ends := c.tasks.next(); ends && (!ok || end.at < at) {
		return end.at, true
	}
	return at, ok
}

// finish ends the tasks that end now.
func (c *course) finish() error {
	for end, ok := c.tasks.next(); ok && end.at <= c.now; end, ok = c.tasks.next() {
		var body poise.Body = poise.JobFinished{Job: end.job}
		if c.tasks.running[end.job].yields {
			body = poise.JobRequeued{Job: end.job}
		}
		if err := c.apply(c.now, body); err != nil {
			return err
		}
	}
	return nil
}

// over ends the jobs whose deadline has come.
func (c *course) over() error {
	for _, id := range c.loop.Over(c.now) {
		var body poise.Body = poise.JobFinished{Job: id}
		if c.state().Job(id).Waiting() {
			body = poise.JobWithdrawn{Job: id}
		}
		c.see.missed(c.state().Job(id), c.now)
		if err := c.apply(c.now, body); err != nil {
			return err
		}
	}
	return nil
}

// pass tries every job that may be tried now, in order, as long as there may be
// another attempt.
func (c *course) pass(more func() bool) error {
	for more() {
		s, err := c.attempt(c.now)
		if err != nil || s == nil {
			return err
		}
		c.see.attempted(s)
	}
	return nil
}

// always allows every attempt.
func always() bool { return true }

// runs is how long a job runs in truth.
func (c *course) runs(j *state.Job) poise.Span {
	if took, ok := c.took[j.ID]; ok {
		return took
	}
	return j.RunTime
}

// follow does what an event means for the tasks that run.
func (c *course) follow(ev poise.Event) {
	c.see.happened(ev)
	switch b := ev.Body.(type) {
	case poise.JobPlaced:
		c.start(&b.Placement, ev.At)
	case poise.GangPlaced:
		for i := range b.Placements {
			c.start(&b.Placements[i], ev.At)
		}
	case poise.JobPreempted:
		c.tasks.yield(c.state().Job(b.Job), max(b.Until, ev.At))
	case poise.JobFinished:
		c.stop(b.Job)
	case poise.JobRequeued:
		c.stop(b.Job)
	}
}

func (c *course) start(p *poise.Placement, at poise.Time) {
	j := c.state().Job(p.Job)
	started := c.tasks.start(j, at, c.runs(j))
	c.see.started(j, &started)
}

func (c *course) stop(id poise.JobID) {
	stopped := c.tasks.stop(id)
	c.see.stopped(id, stopped.tenant, &stopped)
}
