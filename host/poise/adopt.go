package poise

// JobAdopted makes a job known that an earlier history submitted, and that this one
// has no record of: it waits, or its task runs on a node.
type JobAdopted struct {
	Job Job
	// Since is when it was submitted; one that is not before the event counts as now.
	Since    Time  `json:",omitempty"`
	Failures int32 `json:",omitempty"` // how often its task has failed or was lost
	// Node is where its task runs, whether or not there is room; "" = it waits. The
	// devices that it holds are the first that are free.
	Node    string `json:",omitempty"`
	Started bool   `json:",omitempty"` // its gang has
}

// EventKind implements Body.
func (JobAdopted) EventKind() string { return "job-adopted" }
