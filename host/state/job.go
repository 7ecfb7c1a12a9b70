package state

import "github.com/poise-sched/poise/host/poise"

// Job is a job as the state knows it: what was submitted, with the request
// moved into its shape.
type Job struct {
	ID        poise.JobID
	Name      string
	Tenant    poise.TenantID
	Priority  int32
	Tasks     int32
	RunTime   poise.Span
	Submitted poise.Time
	Seq       uint64 // arrival sequence, from 1
	Shape     *Shape
	After     []poise.JobID // known jobs that have to end before; it is not to be tried
	Gang      *poise.Gang   // that it is a member of, nil = of none; immutable

	task *Task // where it runs, nil while it waits
}

// Waiting says whether the job holds no node.
func (j *Job) Waiting() bool { return j.task == nil }

// Task is where the job runs, or nil while it waits.
func (j *Job) Task() *Task { return j.task }
