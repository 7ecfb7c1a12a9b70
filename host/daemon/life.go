package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// deadline begins the reason of a job that was over for lack of time. A running one
// has it in its row before its engine is told, like cancelled.
const deadline = "deadline: "

// stopped says whether the reason of a job that is placed is why it is to end.
func stopped(reason string) bool {
	return reason == cancelled || strings.HasPrefix(reason, deadline)
}

func timeText(t poise.Time) string { return client.At(t).Format(time.RFC3339) }

// resolve makes times of the spans that a job's deadlines were given in, and
// refuses those that have passed.
func (s *Spec) resolve(now poise.Time) error {
	j := &s.Job
	if s.StartIn > 0 {
		j.StartBy = now + poise.Time(s.StartIn)
	}
	if s.FinishIn > 0 {
		j.FinishBy = now + poise.Time(s.FinishIn)
	}
	op := fmt.Sprintf("submit job %q", j.Name)
	if j.StartBy > 0 && j.StartBy <= now {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("start_by: %s has passed, expected a time to come", timeText(j.StartBy))}
	}
	if j.FinishBy > 0 && j.FinishBy-poise.Time(j.RunTime) <= now {
		detail := fmt.Sprintf("finish_by: %s has passed, expected a time to come", timeText(j.FinishBy))
		if j.FinishBy > now {
			detail = fmt.Sprintf("finish_by: %s is less than run_time, %s, away, expected more", timeText(j.FinishBy), client.SpanText(j.RunTime))
		}
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: detail}
	}
	return nil
}

// expire ends the jobs that are over for lack of time.
func (c *core) expire() {
	if c.store.Stalled() != nil {
		return
	}
	for _, id := range c.loop.Over(c.now()) {
		live := c.jobs[id]
		if live == nil || live.stop != "" { // it went with another one, or it is to end already
			continue
		}
		j := c.loop.State().Job(id)
		state, reason := stateWithdrawn, fmt.Sprintf("it cannot end by %s any more", timeText(j.FinishBy))
		due, _ := j.Due()
		switch {
		case !j.Waiting():
			reason = fmt.Sprintf("it has not ended by %s", timeText(j.FinishBy))
		case due == j.StartBy:
			reason = fmt.Sprintf("it has not started by %s", timeText(j.StartBy))
		}
		if j.Failures > 0 {
			state = stateFailed
		}
		c.toEnd(live, state, deadline+reason)
	}
}

// toEnd ends a job that waits in this state, and has one that runs stopped,
// whatever its engine says at first.
func (c *core) toEnd(live *liveJob, state, reason string) {
	if live.place.ID == "" {
		c.end(live, state, nil, reason)
		return
	}
	c.toStop(live, reason)
	c.stopSurely(live.place.ID, 1)
}

// toStop takes down that a job that runs is to end, and why.
func (c *core) toStop(live *liveJob, reason string) {
	live.over.Store(true)
	if live.stop == "" {
		live.stop, live.row.Reason = reason, reason
		c.keep(live)
	}
}

// stopSurely has the task of a job that is to end stopped, tried again until the
// engine takes it.
func (c *core) stopSurely(placement string, attempt int) {
	live := c.placed(placement)
	if live == nil {
		return
	}
	from := live.engine
	c.stop(live, func(err error) {
		if err == nil {
			return
		}
		c.log.Warn("stop", "placement", placement, "error", err)
		c.after(retryOf(from, c.retryIn(attempt)), func() { c.tell(func(c *core) { c.stopSurely(placement, attempt+1) }) })
	})
}

// retry makes a job wait again whose task has failed or is lost, where it is to be
// tried again, and says whether it is.
func (c *core) retry(live *liveJob, state string, code *int32, reason string) bool {
	if live.stop != "" || state != stateFailed && state != stateLost {
		return false
	}
	j := c.loop.State().Job(live.spec.Job.ID)
	again, ok := c.loop.Retry(j, c.now())
	if !ok {
		return false
	}
	if err := c.event(again); err != nil {
		panic(fmt.Sprintf("BUG: a placed job cannot wait again: %v", err))
	}
	c.leavePlace(live, state)
	live.row.State, live.row.Node = stateWaiting, ""
	live.row.Reason = fmt.Sprintf("%s; retry %d of %d at %s", failureText(state, code, live.row.Signal, reason), j.Failures, j.Retry.Limit, timeText(again.NotBefore))
	live.row.Signal = ""
	c.keep(live)
	return true
}

// failureText says how a task failed.
func failureText(state string, code *int32, signal, detail string) string {
	text := "its task failed"
	if state == stateLost {
		text = "its task was lost"
	}
	if signal != "" {
		text += " by " + signal
	} else if code != nil && *code != 0 {
		text += fmt.Sprintf(" with exit code %d", *code)
	}
	if detail != "" {
		text += ": " + detail
	}
	return text
}

// hold keeps a waiting job from being tried, and says whether that is new.
func (c *core) hold(live *liveJob, by string) (bool, error) {
	if live.place.ID != "" {
		return false, &poise.Error{
			Kind: poise.Conflict, Op: fmt.Sprintf("hold job %q", live.row.Name),
			Detail: fmt.Sprintf("it is %s on node %s, expected a job that waits; cancel it, or let it end", live.row.State, live.row.Node),
		}
	}
	if live.spec.Job.Held != "" {
		return false, nil
	}
	c.mustEvent(poise.JobHeld{Job: live.spec.Job.ID, By: by})
	live.spec.Job.Held = by
	c.rewrite(live)
	return true, nil
}

// release lets a job be tried that was held, and says whether that is new.
func (c *core) release(live *liveJob) bool {
	if live.spec.Job.Held == "" {
		return false
	}
	c.mustEvent(poise.JobReleased{Job: live.spec.Job.ID})
	live.spec.Job.Held = ""
	c.rewrite(live)
	return true
}

// setPriority gives a job, and those of its gang, another priority.
func (c *core) setPriority(live *liveJob, priority int32, by string) {
	if live.spec.Job.Priority == priority {
		return
	}
	c.mustEvent(poise.JobPrioritySet{Job: live.spec.Job.ID, Priority: priority, By: by})
	for _, j := range c.loop.State().Kin(c.loop.State().Job(live.spec.Job.ID)) {
		kin := c.jobs[j.ID]
		kin.spec.Job.Priority = priority
		c.rewrite(kin)
	}
}

// mustEvent applies an event that was checked.
func (c *core) mustEvent(body poise.Body) {
	if err := c.event(body); err != nil {
		panic(fmt.Sprintf("BUG: an event that was checked is refused: %v", err))
	}
}

// rewrite keeps a job's row with its spec as it is now, and what it waits for.
func (c *core) rewrite(live *liveJob) {
	body, err := json.Marshal(&live.spec)
	if err != nil {
		panic(fmt.Sprintf("BUG: a job cannot be written: %v", err))
	}
	live.row.Body = body
	if live.place.ID == "" {
		live.row.Reason = c.waitsFor(live)
	}
	c.keep(live)
}

// waitsFor says in a line why a waiting job waits.
func (c *core) waitsFor(live *liveJob) string {
	back := c.keptBack(live)
	switch {
	case back != "":
		return back
	case live.decision != nil && live.decision.Verdict != poise.Placed:
		return live.decision.Summary()
	}
	return ""
}

// keptBack says in a line why a waiting job is not tried now, whatever the fleet is
// like, "" where it is, in its turn, or does not wait.
func (c *core) keptBack(live *liveJob) string {
	j := c.loop.State().Job(live.spec.Job.ID)
	switch {
	case j.Held != "":
		return "held by " + j.Held
	case len(j.After) > 0:
		return c.comesAfter(j.After[len(j.After)-1])
	case j.NotBefore > c.now() && j.Retry != nil:
		return fmt.Sprintf("retry %d of %d at %s", j.Failures, j.Retry.Limit, timeText(j.NotBefore))
	}
	return ""
}

// sweep cancels, holds or releases all jobs of a tenant whose labels match, and
// gives how many that changed. Tenant "" is all of them.
func (c *core) sweep(action client.JobAction, tenant poise.TenantID, selectors []poise.Selector, by string) int {
	var found []*liveJob
	for _, live := range c.jobs {
		if (tenant == "" || live.spec.Job.Tenant == tenant) && poise.MatchAll(selectors, live.spec.Job.Labels) {
			found = append(found, live)
		}
	}
	// The last one first: one that comes after another of them is cancelled like it.
	slices.SortFunc(found, func(a, b *liveJob) int { return cmp.Compare(b.row.Seq, a.row.Seq) })
	return c.actOn(action, found, by)
}

// actOn does one thing to jobs where it can be done, and gives how many changed.
func (c *core) actOn(action client.JobAction, jobs []*liveJob, by string) int {
	n := 0
	for _, live := range jobs {
		changed := false
		switch action {
		case client.CancelJobs:
			if changed = c.jobs[live.spec.Job.ID] != nil && live.stop == ""; changed {
				c.toEnd(live, stateWithdrawn, cancelled)
			}
		case client.HoldJobs:
			changed, _ = c.hold(live, by) // one that runs goes on
		case client.ReleaseJobs:
			changed = c.release(live)
		}
		if changed {
			n++
		}
	}
	return n
}
