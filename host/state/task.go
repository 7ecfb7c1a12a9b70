package state

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Task is a job that holds part of a node. It is immutable.
type Task struct {
	Job     poise.JobID
	Tenant  poise.TenantID
	Shape   *Shape
	Devices []uint16 // indexes of the devices held, ascending
	Placed  poise.Time
	RunTime poise.Span // declared; 0 = not declared
	Gang    string     // id of the gang that the job is a member of, "" = of none

	// Until is when the task is to have ended because it makes room for another job,
	// 0 = it need not.
	Until poise.Time

	Kind   *PodKind // nil = it is no pod
	Ending bool     // it is told to end: spread rules pass it over

	occupant    string // id, "" for the task of a job
	pool        pool   // that it was placed in
	row         uint32
	incarnation uint64
}

// newTask makes the task of a job on the row of a node.
func newTask(j *Job, row uint32, incarnation uint64, devices []uint16, at poise.Time) *Task {
	t := &Task{
		Job: j.ID, Tenant: j.Tenant, Shape: j.Shape, Devices: slices.Clone(devices), Placed: at, RunTime: j.RunTime, Kind: j.Kind,
		row: row, incarnation: incarnation,
	}
	if j.Gang != nil {
		t.Gang = j.Gang.ID
	}
	return t
}

// Node gives the node of the task on a snapshot, "" where it has left.
func (t *Task) Node(s *Snapshot) string {
	if int(t.row) >= s.rows || !s.Present(t.row) || s.Incarnation(t.row) != t.incarnation {
		return ""
	}
	return s.Name(t.row)
}

// Beside says whether the task is of the job or of another member of its gang.
func (t *Task) Beside(j *Job) bool {
	return t.Job == j.ID || j.Gang != nil && t.Gang == j.Gang.ID && t.Tenant == j.Tenant
}

// Row gives the row that the task holds part of on a snapshot of its state, and
// whether its node is still there.
func (t *Task) Row(s *Snapshot) (row uint32, ok bool) {
	return t.row, int(t.row) < s.rows && s.Present(t.row) && s.Incarnation(t.row) == t.incarnation
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
