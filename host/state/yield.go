package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Yield is what there is to know of a job about giving way to others and others'
// giving way to it.
type Yield struct {
	// By is the job that the running task makes room for, "" = it need not end, and
	// Until when it is to have ended.
	By    poise.JobID `json:",omitempty"`
	Until poise.Time  `json:",omitempty"`
	// Last is the job for which it last made room, or is to. Own: that is of its
	// tenant.
	Last poise.JobID `json:",omitempty"`
	Own  bool        `json:",omitempty"`
	// Times is how often the job was displaced, At when it last was.
	Times int32      `json:",omitempty"`
	At    poise.Time `json:",omitempty"`
	// Took are the jobs that made room for it, or are about to, since it last
	// started.
	Took []poise.JobID `json:",omitempty"`
	// Forced: others made room for the task that runs.
	Forced bool `json:",omitempty"`
	// Spared is how often the task that runs was to make room and did not have to, and
	// Rests before when it is not asked again.
	Spared int32      `json:",omitempty"`
	Rests  poise.Time `json:",omitempty"`
}

func (y *Yield) zero() bool {
	return y.By == "" && y.Until == 0 && y.Last == "" && !y.Own && y.Times == 0 && y.At == 0 && len(y.Took) == 0 && !y.Forced &&
		y.Spared == 0 && y.Rests == 0
}

// Yielding says whether the job runs and was told to make room.
func (j *Job) Yielding() bool { return j.Yield.By != "" }

// Yielding gives the jobs that still run and make room for one, by arrival.
func (s *State) Yielding(by poise.JobID) []*Job {
	var all []*Job
	for _, id := range s.yields[by] {
		all = append(all, s.jobs[id])
	}
	slices.SortFunc(all, func(a, b *Job) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

func (s *State) preempt(b *poise.JobPreempted) error {
	op := func() string { return fmt.Sprintf("preempt job %q for job %q", b.Job, b.By) }
	j, by := s.jobs[b.Job], s.jobs[b.By]
	switch {
	case j == nil || by == nil:
		return notFound(op(), "no such job")
	case j.task == nil:
		return conflict(op(), "the job waits, expected a placed job")
	case j.Yielding():
		return conflict(op(), fmt.Sprintf("the job makes room for %q already, expected one that does not", j.Yield.By))
	case by.task != nil || by == j:
		return conflict(op(), "the other job is placed, expected one that waits")
	}
	j.change(func(m *More) {
		m.Yield.By, m.Yield.Until = b.By, b.Until
		m.Yield.Last, m.Yield.Own = b.By, j.Tenant == by.Tenant
	})
	s.ends(j, b.Until)
	by.change(func(m *More) { m.Yield.Took = append(slices.Clone(m.Yield.Took), b.Job) })
	s.yields[b.By] = append(s.yields[b.By], b.Job)
	return nil
}

// spare has a job run on that was to make room.
func (s *State) spare(b *poise.JobSpared) error {
	op := func() string { return fmt.Sprintf("spare job %q", b.Job) }
	j := s.jobs[b.Job]
	switch {
	case j == nil:
		return notFound(op(), "no such job")
	case !j.Yielding():
		return conflict(op(), "the job makes room for none, expected one that does")
	}
	by := j.Yield.By
	s.yieldsNoMore(by, j.ID)
	if waits := s.jobs[by]; waits != nil {
		waits.change(func(m *More) { m.Yield.Took = without(slices.Clone(m.Yield.Took), j.ID) })
	}
	j.change(func(m *More) {
		m.Yield.By, m.Yield.Until, m.Yield.Rests = "", 0, b.Until
		m.Yield.Spared++
	})
	s.ends(j, 0)
	if g := s.GangOf(j); g != nil { // members that have ended follow it
		g.Started = true
	}
	return nil
}

// yieldsNoMore takes note that a job does not make room for another one any more.
func (s *State) yieldsNoMore(by, id poise.JobID) {
	s.yields[by] = without(s.yields[by], id)
	if len(s.yields[by]) == 0 {
		delete(s.yields, by)
	}
}

// ends has snapshots know when a task is to have ended.
func (s *State) ends(j *Job, until poise.Time) {
	task := *j.task
	task.Until = until
	s.replace(j, &task)
}

// with gives the list with another task in the place of one.
func (l *TaskList) with(was, is *Task) *TaskList {
	if l.Task == was {
		return &TaskList{Task: is, Next: l.Next}
	}
	return &TaskList{Task: l.Task, Next: l.Next.with(was, is)}
}

// started takes note that a task begins. Those that made room for it have done so.
func (j *Job) started() {
	if j.NotBefore == 0 && len(j.Yield.Took) == 0 && !j.Yield.Forced {
		return
	}
	j.change(func(m *More) {
		m.NotBefore = 0
		m.Yield.Forced = len(m.Yield.Took) > 0
		m.Yield.Took = nil
	})
}

// startedTogether: where others made room for one member, they did for all.
func startedTogether(jobs []*Job) {
	forced := slices.ContainsFunc(jobs, func(j *Job) bool { return j.Yield.Forced })
	for _, j := range jobs {
		if j.Yield.Forced != forced {
			j.change(func(m *More) { m.Yield.Forced = forced })
		}
	}
}

// stopped takes note that a task has ended. A job that was to make room for
// another and waits again was displaced.
func (s *State) stopped(j *Job, waits bool, at poise.Time) {
	by := j.Yield.By
	if by == "" && !j.Yield.Forced && j.Yield.Spared == 0 {
		return
	}
	j.change(func(m *More) {
		y := &m.Yield
		y.Forced, y.Spared, y.Rests = false, 0, 0
		if by == "" {
			return
		}
		if y.By, y.Until = "", 0; waits {
			y.Times++
			y.At = at
		}
	})
	if by == "" {
		return
	}
	s.yieldsNoMore(by, j.ID)
	if waits {
		// The members that start together make room together: those that have ended wait
		// for the others, and then start together again. Where one runs on, they follow it.
		runsOn := func(m *Job) bool { return !m.Waiting() && !m.Yielding() }
		if g := s.GangOf(j); g != nil && !j.Extra() && len(g.members) == int(g.Spec.Size) && !slices.ContainsFunc(g.members, runsOn) {
			g.Started = false
		}
	}
}

// image gives the Yield for keeping, nil where there is nothing to keep.
func (y *Yield) image() *Yield {
	if y.zero() {
		return nil
	}
	kept := *y
	kept.Took = slices.Clone(y.Took)
	return &kept
}

// placeYield gives a job of an image what was kept of it.
func (s *State) placeYield(j *Job, y *Yield) error {
	if y == nil {
		return nil
	}
	if (y.By != "" || y.Spared > 0) && j.task == nil || len(y.Took) > 0 && j.task != nil {
		return broken("job %q: it waits and makes room, or runs and others make room for it", j.ID)
	}
	j.change(func(m *More) { m.Yield = *y.image() })
	if y.By != "" {
		j.task.Until = y.Until
	}
	if y.By != "" {
		s.yields[y.By] = append(s.yields[y.By], j.ID)
	}
	return nil
}

// Claims says whether others made room for the job that a reservation is for, or are
// about to.
func (s *State) Claims(r *Reservation) bool {
	j := s.jobs[r.Job]
	return j != nil && len(j.Yield.Took) > 0
}

// claimed is what jobs of a tenant, and of those under it, ask for of a resource
// for which others made room that is kept for them, without one of them.
func (s *State) claimed(tenant poise.TenantID, but *Job, resource string) int64 {
	var all sum
	for _, reserved := range s.live.reservations {
		if !s.Claims(reserved) || reserved.For(but) || !s.under(reserved.Tenant, tenant) {
			continue
		}
		for i := range reserved.Holds {
			r := &reserved.Holds[i].Shape.Request
			amount, _ := r.Amounts.Find(resource)
			all.add(amount)
			if r.Device.Count > 0 && r.Device.Kind == resource {
				all.add(r.Device.Total())
			}
		}
	}
	return all.amount()
}

// under says whether a tenant is another one or a part of it.
func (s *State) under(id, above poise.TenantID) bool {
	for id != above {
		t := s.policies.tenants[id]
		if t == nil || t.Parent == "" {
			return false
		}
		id = t.Parent
	}
	return true
}

// Extras is the number of extra members of gangs that run.
func (s *State) Extras() int { return s.extras }

// Leaving gives all jobs that run and make room for others, by arrival.
func (s *State) Leaving() []*Job {
	var all []*Job
	for by := range s.yields {
		all = append(all, s.Yielding(by)...)
	}
	slices.SortFunc(all, func(a, b *Job) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
