package state

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// ending takes note that the task of a job is told to end.
func (s *State) ending(id poise.JobID) error {
	j := s.jobs[id]
	op := func() string { return fmt.Sprintf("end task of job %q", id) }
	switch {
	case j == nil:
		return notFound(op(), "no such job")
	case j.task == nil:
		return conflict(op(), "the job waits, expected a placed job")
	case j.task.Ending:
		return nil
	}
	was := *j.task
	is := was
	is.Ending = true
	if _, ok := was.Row(&s.live); ok {
		s.podKinds.count(was.Kind, was.row, -1, false)
		s.podKinds.count(was.Kind, was.row, 1, true)
	}
	s.replace(j, &is)
	return nil
}

// replace has snapshots know a task of a job in place of the one that it has.
func (s *State) replace(j *Job, task *Task) {
	was := j.task
	j.task = task
	if row, ok := was.Row(&s.live); ok {
		hot := s.hotPage(row)
		hot.tasks[row&pageMask] = hot.tasks[row&pageMask].with(was, j.task)
		s.touch(hot, row)
	}
}
