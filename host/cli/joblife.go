package cli

import (
	"cmp"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
)

// lifeOf tells what a file says about a job's life beside what client.NewJobSpec
// does.
func lifeOf(s *client.JobSpec, j *manifest.Job) {
	s.After, s.AfterAny, s.AfterFailure = j.Task.After, j.Task.AfterAny, j.Task.AfterFailure
	s.StartBy, s.FinishBy = cmp.Or(s.StartBy, client.SpanText(j.StartIn)), cmp.Or(s.FinishBy, client.SpanText(j.FinishIn))
	s.Hold = j.Hold
	if a := j.Array; a != nil {
		s.Array = &client.ArraySpec{Count: a.Count, Parallel: a.Parallel}
	}
}
