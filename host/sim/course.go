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
	own   map[poise.JobID]*Fate       // of jobs that have one
	needs map[poise.JobID]*loop.Needs // of jobs that come after others
	see   watcher
}

// watcher is told what happens in a course.
type watcher interface {
	happened(ev poise.Event)
	attempted(s *loop.Settled)
	started(j *state.Job, t *task)
	stopped(id poise.JobID, t *task, waits bool) // waits: the job waits again
	missed(j *state.Job)                         // its deadline; it ends next
	ended(j *state.Job, how ending)              // before the event
	eligible(j *state.Job)                       // nothing that it came after, and no hold, is in its way any more
}

func newCourse(w *World, now poise.Time, see watcher) *course {
	c := &course{World: w, now: now, tasks: newTasks(), own: map[poise.JobID]*Fate{}, needs: map[poise.JobID]*loop.Needs{}, see: see}
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
		if err := c.done(end.job); err != nil {
			return err
		}
	}
	return nil
}

// over ends the jobs whose deadline has come.
func (c *course) over() error {
	for _, id := range c.loop.Over(c.now) {
		j := c.state().Job(id)
		if j == nil { // it went with another
			continue
		}
		c.see.missed(j)
		how := withdrawn
		if !j.Waiting() || j.Failures > 0 {
			how = failed
		}
		if err := c.end(j, how); err != nil {
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
	if fate := c.own[j.ID]; fate != nil && fate.Took != 0 {
		return fate.Took
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
		c.stop(b.Job, false)
	case poise.JobRequeued:
		c.stop(b.Job, true)
	}
}

func (c *course) start(p *poise.Placement, at poise.Time) {
	j := c.state().Job(p.Job)
	started := c.tasks.start(j, at, c.runs(j))
	c.see.started(j, &started)
}

func (c *course) stop(id poise.JobID, waits bool) {
	stopped := c.tasks.stop(id)
	c.see.stopped(id, &stopped, waits)
}
