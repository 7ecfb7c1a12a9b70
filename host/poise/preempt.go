package poise

// JobPreempted has a placed job make room for another one. It holds its place
// until its task has ended, which JobRequeued says, or JobFinished where it was
// done before.
type JobPreempted struct {
	Job   JobID
	By    JobID // that waits and is to have the room
	Until Time  // the task is to have ended by then
}

// EventKind implements Body.
func (JobPreempted) EventKind() string { return "job-preempted" }

// JobSpared has a job that was to make room run on, as its engine must not end it now:
// of a pod a disruption budget says so.
type JobSpared struct {
	Job   JobID
	Until Time // it is not asked again before
}

// EventKind implements Body.
func (JobSpared) EventKind() string { return "job-spared" }
