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
	StartBy   poise.Time    // 0 = whenever, or a task of it has run
	FinishBy  poise.Time    // 0 = whenever
	Retry     *poise.Retry
	Held      string // who holds it; it is not to be tried
	Labels    []poise.Label
	NotBefore poise.Time // it waits again, and is not to be tried before
	Failures  int32      // how many tasks of it failed or were lost

	Kind *PodKind // nil = it is no pod

	Yield Yield

	task *Task // where it runs, nil while it waits
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
