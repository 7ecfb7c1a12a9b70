package state

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// live takes over what a job says about its life. What is shared is never written.
func (j *Job) live(spec *poise.Job, kind *PodKind) {
	if kind == nil && spec.StartBy == 0 && spec.FinishBy == 0 && spec.Retry == nil && spec.Held == "" && len(spec.Labels) == 0 {
		return
	}
	j.change(func(m *More) {
		m.StartBy, m.FinishBy, m.Retry, m.Held, m.Labels, m.Kind = spec.StartBy, spec.FinishBy, spec.Retry, spec.Held, spec.Labels, kind
	})
}

// waitAgain takes down why a placed job waits again. One that has run has started.
func (j *Job) waitAgain(b *poise.JobRequeued) {
	j.change(func(m *More) {
		m.NotBefore = b.NotBefore
		if b.Failed {
			m.Failures++
			m.StartBy = 0
		}
	})
}

func (s *State) holdJob(b *poise.JobHeld) error {
	op := func() string { return fmt.Sprintf("hold job %q", b.Job) }
	j := s.jobs[b.Job]
	switch {
	case j == nil:
		return notFound(op(), "no such job")
	case b.By == "":
		return &poise.Error{Kind: poise.Invalid, Op: op(), Detail: "by: nobody, expected who holds it"}
	case j.task != nil:
		return conflict(op(), "the job is placed, expected a waiting job")
	case j.Held != "":
		return conflict(op(), fmt.Sprintf("the job is held by %q, expected one that is not", j.Held))
	}
	j.change(func(m *More) { m.Held = b.By })
	s.unreserve(j)
	return nil
}

func (s *State) letGoJob(id poise.JobID) error {
	op := func() string { return fmt.Sprintf("release job %q", id) }
	j := s.jobs[id]
	switch {
	case j == nil:
		return notFound(op(), "no such job")
	case j.Held == "":
		return conflict(op(), "the job is not held, expected one that is")
	}
	j.change(func(m *More) { m.Held = "" })
	return nil
}

func (s *State) setPriority(b *poise.JobPrioritySet) error {
	j := s.jobs[b.Job]
	if j == nil {
		return notFound(fmt.Sprintf("set priority of job %q", b.Job), "no such job")
	}
	for _, m := range s.Kin(j) {
		m.Priority = b.Priority
	}
	return nil
}

// Kin gives the job, or the members that wait or run of the gang that it is in:
// those that have one priority.
func (s *State) Kin(j *Job) []*Job {
	if g := s.GangOf(j); g != nil {
		return g.Members()
	}
	return []*Job{j}
}
