package loop

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/state"
)

const (
	// searchEvery is how long a job waits from one search for tasks that may end for
	// it to the next, however much happens.
	searchEvery = poise.Time(1000)
	// searchRate bounds how many rows and tasks are looked at per millisecond, so
	// that searches take a small part of the loop's time.
	searchRate = 500
	// maxHungry bounds the jobs for which tasks may have to end. Others wait for room
	// among them.
	maxHungry = 256
	// never is later than any time.
	never = poise.Time(math.MaxInt64)
)

// hunger is of a job that fits, but not now, so that tasks may have to end for it.
type hunger struct {
	job      poise.JobID
	due      poise.Time // it is not looked into before
	searched poise.Time // when it last was
}

// hungry are the jobs for which tasks may have to end.
type hungry struct {
	of    map[poise.JobID]*hunger
	rest  poise.Time // nothing is looked into before
	fresh bool       // tasks began, or were spared, since those without a time were looked into
}

// starve takes note of a job that fits, but not now.
func (l *Loop) starve(j *state.Job, d *poise.Decision, now poise.Time) {
	if d.Verdict != poise.FitsNotNow || j.Extra() || j.Kind != nil && j.Kind.Pod.NoPreemption || !l.displaces() {
		return
	}
	h := l.hungry.of[j.ID]
	switch {
	case h != nil:
		h.due = min(h.due, max(now, h.searched+searchEvery))
	case len(l.hungry.of) < maxHungry:
		l.hungry.of[j.ID] = &hunger{job: j.ID, due: now, searched: never}
	}
}

// displaces says whether tasks may have to end for others.
func (l *Loop) displaces() bool {
	s := l.settings.Preempt
	return s != nil && (s.Priority || s.Reclaim || l.state.Extras() > 0)
}

// displace gives the events by which tasks end so that a job has room: of one job at
// a time, as what is left for the others depends on it.
func (l *Loop) displace(now poise.Time) []poise.Body {
	if len(l.hungry.of) == 0 || now < l.hungry.rest && l.hungry.rest-now <= longestRest {
		return nil
	}
	if l.hungry.fresh {
		l.hungry.fresh = false
		for _, h := range l.hungry.of {
			if h.due == never {
				h.due = max(now, h.searched+searchEvery)
			}
		}
	}
	for _, h := range l.inNeed(now) {
		h.searched, h.due = now, never
		j := l.state.Job(h.job)
		if len(l.state.Yielding(j.ID)) > 0 || l.planned[j.ID] || l.state.OverQuota(Asks(l.state, j)) != nil {
			continue
		}
		found := preempt.Find(l.state, l.settings.Preempt, l.together(j), pooled(l.state, l.state.View(), j), now)
		l.hungry.rest = now + poise.Time(found.Looked/searchRate)
		if found.Claim != nil {
			return l.claim(j, found.Claim, now)
		}
		if found.Again > 0 {
			h.due = max(found.Again, now+searchEvery)
		}
		if l.hungry.rest > now {
			return nil
		}
	}
	return nil
}

// together gives the members that a job starts with, by index: itself at least.
func (l *Loop) together(j *state.Job) []*state.Job {
	if g := l.waitsWith(j); g != nil {
		return g.Core()
	}
	return []*state.Job{j}
}

// claim gives the events of a claim. What becomes free is kept for the job.
func (l *Loop) claim(j *state.Job, c *preempt.Claim, now poise.Time) []poise.Body {
	until := now + poise.Time(l.settings.Preempt.Grace)
	var events []poise.Body
	for _, v := range c.Victims {
		events = append(events, poise.JobPreempted{Job: v.ID, By: j.ID, Until: until})
	}
	if view := l.state.View(); view.Reservation(j.ID) != nil || len(view.Reservations()) < poise.MaxReservations {
		events = append(events, poise.ReservationMade{Job: j.ID, Nodes: c.Nodes}) // from whenever they have ended on
	}
	return events
}

// inNeed gives those that may be looked into now and still wait, in the order of
// their need: first those whose tenant stays within its guarantee, then by
// priority and arrival. Those that wait no more are forgotten.
func (l *Loop) inNeed(now poise.Time) []*hunger {
	type need struct {
		*hunger
		job    *state.Job
		within bool
	}
	var all []need
	for id, h := range l.hungry.of {
		j := l.state.Job(id)
		if j == nil || !j.Waiting() || j.Blocked() {
			delete(l.hungry.of, id)
			continue
		}
		if h.due <= now {
			all = append(all, need{h, j, l.state.Within(j.Tenant, Asks(l.state, j))})
		}
	}
	slices.SortFunc(all, func(a, b need) int {
		if a.within != b.within {
			if a.within {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.job.Priority, a.job.Priority), cmp.Compare(a.job.Seq, b.job.Seq))
	})
	out := make([]*hunger, len(all))
	for i := range all {
		out[i] = all[i].hunger
	}
	return out
}

// nextSearch is when a job may be looked into next.
func (l *Loop) nextSearch() (at poise.Time, ok bool) {
	for _, h := range l.hungry.of {
		due := h.due
		if due == never && l.hungry.fresh {
			due = h.searched + searchEvery
		}
		if due = max(due, l.hungry.rest); due != never && (!ok || due < at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// Requeue gives the event by which a job whose task has ended waits again. A member
// that is extra and gave way does not come back at once.
func (l *Loop) Requeue(j *state.Job, now poise.Time) poise.JobRequeued {
	b := poise.JobRequeued{Job: j.ID}
	if s := l.settings.Preempt; s != nil && s.Hold > 0 && j.Extra() && j.Yielding() {
		b.NotBefore = now + poise.Time(s.Hold)
	}
	return b
}

// UsePreempt makes tasks end for others by these settings from now on.
func (l *Loop) UsePreempt(s preempt.Settings) {
	was := l.settings.Preempt
	if l.settings.Preempt = &s; was == nil || was.Priority != s.Priority {
		for _, old := range slices.Collect(maps.Values(l.lists)) { // jobs of one shape differ by their priority now, or no more
			l.relist(old)
		}
	}
}

// apart has a job that has a reservation wait by itself: what is kept for it is not
// for the others of its shape.
func (l *Loop) apart(j *state.Job) error {
	if !l.state.Alone(j) || l.shapes.isAlone(j) || !l.unlist(j) {
		return nil
	}
	l.shapes.forget(j)
	return l.push(j)
}
