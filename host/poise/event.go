package poise

// Event is one thing that happened. State changes only by applying events, so
// the sequence of events is the whole history.
type Event struct {
	Index uint64 // position in the log, from 1, no gaps
	At    Time
	Body  Body
}

// Body is what happened. EventKind is its name in the log.
type Body interface{ EventKind() string }

// NodeJoined adds a node under a name that no present node has.
type NodeJoined struct{ Node Node }

// NodeChanged replaces everything but the name of a present node. Capacity may
// fall below what is allocated; tasks that run are not touched.
type NodeChanged struct{ Node Node }

// NodeMarked sets a present node's state flags.
type NodeMarked struct {
	Name              string
	NotReady, Drained bool
}

// NodeLeft removes a node. Placements on it stay on record, holding nothing,
// until the job is finished or requeued.
type NodeLeft struct{ Name string }

// JobSubmitted makes a job known and waiting.
type JobSubmitted struct{ Job Job }

// JobPlaced commits a decision: the job's request is taken from the node.
type JobPlaced struct{ Placement Placement }

// JobFinished gives a placed job's request back and forgets the job.
type JobFinished struct{ Job JobID }

// JobRequeued gives a placed job's request back and makes the job wait again.
type JobRequeued struct {
	Job       JobID
	NotBefore Time `json:",omitempty"` // when it may be tried again, 0 = at once
	Failed    bool `json:",omitempty"` // its task ran and failed, or was lost
}

// JobWithdrawn forgets a job that waits.
type JobWithdrawn struct{ Job JobID }

// ProfileBuilt puts a new demand profile per device kind in force, sorted by
// kind, and the counts of all kinds of task beside it. It is recorded, never
// recomputed on replay, so a restart changes no decision.
type ProfileBuilt struct {
	Profiles []*Profile
	Demand   *Demand
}

// SymbolsWanted gives texts the numbers by which policy plugins know them: the
// values, and from now on the values of the labels of these keys on every node.
type SymbolsWanted struct{ Labels, Values []string }

// ModelBuilt puts a new model of node classes in force and gives nodes the labels
// that it makes them carry. It is recorded, never recomputed on replay, because
// the bits of eigenvalues differ between builds of the program.
type ModelBuilt struct {
	Model ModelRecord
	// Labels replace, for the nodes whose labels the model changes, all labels
	// of the node.
	Labels []NodeLabels
}

// ModelRecord is a recorded model, which is immutable. Package model has the one
// that there is.
type ModelRecord interface{ ModelBuild() uint64 }

// NodeLabels are all labels of one present node, sorted by key.
type NodeLabels struct {
	Node   string
	Labels []Label
}

// EventKind implements Body.
func (NodeJoined) EventKind() string { return "node-joined" }

// EventKind implements Body.
func (NodeChanged) EventKind() string { return "node-changed" }

// EventKind implements Body.
func (NodeMarked) EventKind() string { return "node-marked" }

// EventKind implements Body.
func (NodeLeft) EventKind() string { return "node-left" }

// EventKind implements Body.
func (JobSubmitted) EventKind() string { return "job-submitted" }

// EventKind implements Body.
func (JobPlaced) EventKind() string { return "job-placed" }

// EventKind implements Body.
func (JobFinished) EventKind() string { return "job-finished" }

// EventKind implements Body.
func (JobRequeued) EventKind() string { return "job-requeued" }

// EventKind implements Body.
func (JobWithdrawn) EventKind() string { return "job-withdrawn" }

// EventKind implements Body.
func (ProfileBuilt) EventKind() string { return "profile-built" }

// EventKind implements Body.
func (SymbolsWanted) EventKind() string { return "symbols-wanted" }

// EventKind implements Body.
func (ModelBuilt) EventKind() string { return "model-built" }
