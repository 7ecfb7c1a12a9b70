package sim

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// ending is how a job ends, as the daemon's history has it.
type ending int

const (
	open ending = iota // it waits or runs
	succeeded
	failed
	withdrawn // it never ran, or does not run again
)

// done ends a task that is done, or has made room, and with it the job, unless that
// waits again.
func (c *course) done(id poise.JobID) error {
	j, fate := c.state().Job(id), c.own[id]
	fails := fate != nil && fate.fails(j.Failures)
	switch {
	case c.tasks.running[id].yields, fails && j.Yielding():
		return c.apply(c.now, c.loop.Requeue(j, c.now))
	case !fails:
		return c.end(j, succeeded)
	}
	if again, ok := c.loop.Retry(j, c.now); ok {
		return c.apply(c.now, again)
	}
	return c.end(j, failed)
}

// end ends a job for good, and those that cannot run any more then: of its gang, and
// that come after it.
func (c *course) end(j *state.Job, how ending) error {
	later, others := c.state().Later(j.ID), c.loop.EndWith(j)
	var body poise.Body = poise.JobFinished{Job: j.ID}
	if j.Waiting() {
		body = poise.JobWithdrawn{Job: j.ID}
	}
	c.see.ended(j, how)
	if err := c.apply(c.now, body); err != nil {
		return err
	}
	for _, other := range others {
		if err := c.end(other, withdrawn); err != nil {
			return err
		}
	}
	for _, id := range later {
		next := c.state().Job(id)
		switch {
		case next == nil: // it went with another
		case !c.met(next, j.ID, how):
			if err := c.end(next, withdrawn); err != nil {
				return err
			}
		case !next.Blocked():
			c.see.eligible(next)
		}
	}
	return nil
}

// met says whether a job may still run now that one it comes after has ended. Of jobs
// of which a run knows nothing it does not say.
func (c *course) met(j *state.Job, after poise.JobID, how ending) bool {
	needs := c.needs[j.ID]
	return needs == nil || needs.Met(after, how == succeeded)
}

// known takes down what the run alone knows of a job.
func (c *course) known(a *Arrival) {
	if a.Fate != (Fate{}) {
		c.own[a.Job.ID] = &a.Fate
	}
	if len(a.Job.After) > 0 {
		c.needs[a.Job.ID] = &a.Needs
	}
}
