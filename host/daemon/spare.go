package daemon

import (
	"fmt"
	"sync/atomic"

	"github.com/poise-sched/poise/host/poise"
)

// leastRest is how long a job that was spared is not asked again at the least: others
// are meanwhile, one a second.
const leastRest poise.Span = 10_000

// spare has a job run on that was to make room and that its engine must not end now,
// as a disruption budget says. It is asked again later and later, if it is still the
// one whose end does least harm; until then others are.
func (c *core) spare(placement string, cause error) {
	live := c.placed(placement)
	if live == nil || live.stop != "" {
		return
	}
	j := c.loop.State().Job(live.spec.Job.ID)
	if !j.Yielding() {
		return
	}
	by := j.Yield.By
	rest := max(leastRest, poise.Span(c.retryIn(int(j.Yield.Spared)+1).Milliseconds()))
	for _, body := range c.loop.Spare(j, c.now()+poise.Time(rest)) {
		if err := c.event(body); err != nil {
			panic(fmt.Sprintf("BUG: a job that makes room cannot run on: %v", err))
		}
	}
	c.log.Info("a task is not ended for another job", "placement", placement, "job", by, "because", cause)
	live.over, live.row.Reason = new(atomic.Bool), ""
	c.keep(live)
	c.waitsAnew(by)
}

// waitsAnew says of a job why it waits now that others make room for it, or do not any
// more.
func (c *core) waitsAnew(id poise.JobID) {
	live := c.jobs[id]
	if live == nil || live.decision == nil || live.place.ID != "" {
		return
	}
	live.row.Reason = c.reason(live.decision)
	c.keep(live)
	c.tellWaiting(live, live.decision)
}

// unreserved has a pod say so where nothing is kept for it any more.
func (c *core) unreserved(body poise.Body) {
	b, ended := body.(poise.ReservationEnded)
	if !ended {
		return
	}
	if live := c.jobs[b.Job]; live != nil && live.decision != nil && live.place.ID == "" {
		c.tellWaiting(live, live.decision)
	}
}

// nominated gives the node on which others make room for a job that waits, "" where
// none do.
func (c *core) nominated(id poise.JobID) string {
	st := c.loop.State()
	j := st.Job(id)
	for _, r := range st.View().Reservations() {
		if !r.For(j) || !st.Claims(r) {
			continue
		}
		i := 0
		if !st.Alone(j) {
			i = int(j.Gang.Index)
		}
		if i < len(r.Holds) {
			if _, there := r.Holds[i].Row(st.View()); there {
				return r.Holds[i].Node
			}
		}
	}
	return ""
}
