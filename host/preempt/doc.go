// Package preempt chooses which tasks end so that a job that waits has room: those
// of extra members of gangs first, then, where that is switched on, tasks of the
// job's own tenant that matter less, and tasks of tenants that hold more than they
// are guaranteed while the job's tenant holds less. It looks at a state and changes
// nothing; whoever asks makes events of the answer.
//
// Invariants: a task that need not end for the job to have room is not among the
// victims; no tenant but the job's own falls below what it is guaranteed of a
// resource that the job lacks; a gang ends as a whole, but for its extra members.
package preempt
