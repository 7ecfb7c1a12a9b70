package state

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// live takes over what a job says about its life. What is shared is never written.
func (j *Job) live(spec *poise.Job) {
	j.StartBy, j.FinishBy, j.Retry, j.Held, j.Labels = spec.StartBy, spec.FinishBy, spec.Retry, spec.Held, spec.Labels
}

// waitAgain takes down why a placed job waits again. One that has run has started.
func (j *Job) waitAgain(b *poise.JobRequeued) {
	j.NotBefore = b.NotBefore
	if b.Failed {
		j.Failures++
		j.StartBy = 0
	}
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
	j.Held = b.By
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
	j.Held = ""
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
