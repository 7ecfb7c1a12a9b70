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
