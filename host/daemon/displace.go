package daemon

import (
	"fmt"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/state"
)

// stateDisplaced is that of a placement whose task ended for another job.
const stateDisplaced = "displaced"

// preemption gives whose tasks end for others by the configuration.
func preemption(c *config.Config) preempt.Settings {
	q, mode := &c.Queue, c.Queue.Preemption
	return preempt.Settings{
		Priority: mode == "priority" || mode == "both", Reclaim: mode == "reclaim" || mode == "both",
		Grace: span(q.PreemptionGrace), Cooldown: span(q.PreemptionCooldown), Patience: span(q.Patience), Hold: span(q.ElasticHold),
	}
}

// due applies what the loop makes of itself by now, and has tasks end that are to
// make room.
func (c *core) due() error {
	for {
		events := c.loop.Due(c.now())
		if len(events) == 0 {
			return nil
		}
		claimed := poise.JobID("")
		for _, body := range events {
			if err := c.event(body); err != nil {
				return fmt.Errorf("make room: %w", err)
			}
			if b, ok := body.(poise.JobPreempted); ok {
				claimed = b.By
				c.metrics.JobPreempted(c.jobs[b.Job].row.Tenant)
				c.giveWay(c.jobs[b.Job])
			}
		}
		c.waitsAnew(claimed)
	}
}

// giveWay has a task ended that is to make room.
func (c *core) giveWay(live *liveJob) {
	j := c.loop.State().Job(live.spec.Job.ID)
	live.over.Store(true)
	if live.stop == "" { // else its row says why it is to end, also after a restart
		live.row.Reason = "makes room for " + c.forWhom(j) + " by " + timeText(j.Yield.Until)
		c.keep(live)
	}
	c.endsFor(live.place.ID, 1)
}

// endsFor has the task of a placement ended for another job, tried again until the
// engine takes it.
func (c *core) endsFor(placement string, attempt int) {
	live := c.placed(placement)
	if live == nil || live.stop != "" {
		return
	}
	j := c.loop.State().Job(live.spec.Job.ID)
	from, by := live.engine, c.forWhom(j)
	c.evict(from, placement, max(0, poise.Span(j.Yield.Until-c.now())), func(err error) {
		switch {
		case err == nil:
			if t, ok := from.(teller); ok {
				t.Preempted(placement, by)
			}
		case poise.KindOf(err) == poise.NotFound: // it never began, or went with its engine
			c.tell(func(c *core) {
				if live := c.placed(placement); live != nil {
					c.displaced(live)
				}
			})
		case poise.KindOf(err) == poise.Limit:
			c.tell(func(c *core) { c.spare(placement, err) })
		default:
			c.log.Warn("make room", "placement", placement, "error", err)
			c.after(retryOf(from, c.retryIn(attempt)), func() { c.tell(func(c *core) { c.endsFor(placement, attempt+1) }) })
		}
	})
}

// gaveWay says whether a task that has ended was to make room and is to run again: it
// has not succeeded by itself before it was told.
func (c *core) gaveWay(live *liveJob, s *engine.Status) bool {
	return c.loop.State().Job(live.spec.Job.ID).Yielding() && live.stop == "" && s.State != engine.Succeeded
}

// displaced makes a job wait again whose task has made room.
func (c *core) displaced(live *liveJob) {
	id := live.spec.Job.ID
	if live.stop != "" {
		c.end(live, stateFailed, nil, live.stop)
		return
	}
	if live.spec.Job.Pod != nil { // whoever made it makes another one
		c.end(live, stateLost, nil, "evicted for "+c.forWhom(c.loop.State().Job(id)))
		return
	}
	if err := c.event(c.loop.Requeue(c.loop.State().Job(id), c.now())); err != nil {
		panic(fmt.Sprintf("BUG: a placed job cannot wait again: %v", err))
	}
	c.leavePlace(live, stateDisplaced)
	live.row.State, live.row.Node, live.row.Reason = stateWaiting, "", c.displacedBy(c.loop.State().Job(id))
	c.keep(live)
}

// reason is why a job waits, in a line.
func (c *core) reason(d *poise.Decision) string {
	text := d.Summary()
	j := c.loop.State().Job(d.Job)
	if ends := c.loop.State().Yielding(d.Job); len(ends) > 0 {
		last := ends[0].Yield.Until
		for _, each := range ends {
			last = max(last, each.Yield.Until)
		}
		text += fmt.Sprintf("; waits for %s to end by %s", tasks(len(ends)), timeText(last))
	}
	if j != nil && j.Yield.Times > 0 {
		text += "; " + c.displacedBy(j)
	}
	return text
}

// displacedBy says for whom a job last made room. Who another tenant's job is, is
// not its owner's to know.
func (c *core) displacedBy(j *state.Job) string {
	text := fmt.Sprintf("displaced by %s at %s", c.forWhom(j), timeText(j.Yield.At))
	if j.Yield.Times > 1 {
		text += fmt.Sprintf(", the %d. time", j.Yield.Times)
	}
	return text
}

func (c *core) forWhom(j *state.Job) string {
	if by := c.jobs[j.Yield.Last]; j.Yield.Own && by != nil {
		return "job " + by.spec.Job.Name
	} else if j.Yield.Own {
		return "job " + string(j.Yield.Last)
	}
	return "a job of another tenant"
}

func tasks(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}
