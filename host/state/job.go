package state

import "github.com/poise-sched/poise/host/poise"

// Job is a job as the state knows it: what was submitted, with the request
// moved into its shape. One is kept for each that waits or runs, so the fields are
// packed into 112 bytes, and what few jobs have is apart.
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
	Gang      *poise.Gang // that it is a member of, nil = of none; immutable
	*More

	task *Task // where it runs, nil while it waits
}

// NewJob makes a job that waits of what was submitted, with its shape and, if it is a
// pod, its kind.
func NewJob(j *poise.Job, shape *Shape, kind *PodKind, at poise.Time, seq uint64) *Job {
	made := &Job{
		ID: j.ID, Name: j.Name, Tenant: j.Tenant, Priority: j.Priority, Tasks: j.Tasks, RunTime: j.RunTime,
		Submitted: at, Seq: seq, Shape: shape, Gang: j.Gang, More: nothingMore,
	}
	made.live(j, kind)
	return made
}

// Waiting says whether the job holds no node.
func (j *Job) Waiting() bool { return j.task == nil }

// Blocked says whether the job is not to be tried, whatever the time: it comes
// after others, or it is held.
func (j *Job) Blocked() bool { return len(j.After) > 0 || j.Held != "" }

// Due is when the job is over for lack of time, see poise.DueBy.
func (j *Job) Due() (poise.Time, bool) {
	return poise.DueBy(j.Waiting(), j.StartBy, j.FinishBy, j.RunTime)
}

// Task is where the job runs, or nil while it waits.
func (j *Job) Task() *Task { return j.task }
