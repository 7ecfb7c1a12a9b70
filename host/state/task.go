package state

import "github.com/poise-sched/poise/host/poise"

// Task is a job that holds part of a node. It is immutable.
type Task struct {
	Job     poise.JobID
	Tenant  poise.TenantID
	Shape   *Shape
	Devices []uint16 // indexes of the devices held, ascending
	Placed  poise.Time

	pool        pool // that it was placed in
	row         uint32
	incarnation uint64
}

// TaskList is an immutable list: a snapshot keeps the list it was taken with.
type TaskList struct {
	Task *Task
	Next *TaskList
}

// without gives the list less one task. It copies the nodes before that task
// and shares those after it.
func (l *TaskList) without(t *Task) *TaskList {
	if l == nil {
		return nil
	}
	if l.Task == t {
		return l.Next
	}
	return &TaskList{Task: l.Task, Next: l.Next.without(t)}
}
