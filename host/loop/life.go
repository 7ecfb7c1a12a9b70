package loop

import (
	"container/heap"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// deadline is when a job is over for lack of time.
type deadline struct {
	due poise.Time
	seq uint64 // of the job
	job poise.JobID
	pos int
}

// deadlines are those of the jobs that wait or run, the first to come in front.
type deadlines struct {
	order []*deadline
	of    map[poise.JobID]*deadline
}

var _ heap.Interface = (*deadlines)(nil)

// Len implements heap.Interface.
func (d *deadlines) Len() int { return len(d.order) }

// Less implements heap.Interface.
func (d *deadlines) Less(i, k int) bool {
	a, b := d.order[i], d.order[k]
	return a.due < b.due || a.due == b.due && a.seq < b.seq
}

// Swap implements heap.Interface.
func (d *deadlines) Swap(i, k int) {
	d.order[i], d.order[k] = d.order[k], d.order[i]
	d.order[i].pos, d.order[k].pos = i, k
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	e := x.(*deadline)
	e.pos = len(d.order)
	d.order = append(d.order, e)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(d.order) - 1
	e := d.order[last]
	d.order[last] = nil
	d.order = d.order[:last]
	return e
}

// set takes down a job's deadline as it is now. A job that has ended is nil.
func (d *deadlines) set(id poise.JobID, j *state.Job) {
	if e := d.of[id]; e != nil {
		heap.Remove(d, e.pos)
		delete(d.of, id)
	}
	if j == nil {
		return
	}
	if due, ok := j.Due(); ok {
		e := &deadline{due: due, seq: j.Seq, job: id}
		d.of[id] = e
		heap.Push(d, e)
	}
}

// Over gives the jobs that are over for lack of time, see poise.DueBy, the one that
// was due first in front. Each is given once in a turn of waiting or running: the
// caller ends it.
func (l *Loop) Over(now poise.Time) []poise.JobID {
	d := &l.deadlines
	var over []poise.JobID
	for len(d.order) > 0 && d.order[0].due <= now {
		e := heap.Pop(d).(*deadline)
		delete(d.of, e.job)
		over = append(over, e.job)
	}
	return over
}

// unlist takes a job out of the queue, and says whether it was there.
func (l *Loop) unlist(j *state.Job) bool {
	of := l.lists[j.Tenant]
	return of != nil && of.queue.Remove(j.ID)
}

// prioritised puts a job that has another priority now into its new place. The
// policy may tell it from what it was. One that is planned now is planned again.
func (l *Loop) prioritised(j *state.Job) error {
	if !l.unlist(j) {
		return nil
	}
	l.shapes.forget(j)
	return l.push(j)
}

// add queues an item of a job that may be tried, once it is time. A wait longer than it
// can be, by the hold of extra members, shows that the clock was set back.
func (l *list) add(item queue.Item, j *state.Job, hold poise.Span) error {
	if j.NotBefore == 0 {
		return l.queue.Push(item)
	}
	longest := poise.Span(0)
	if j.Retry != nil {
		longest = j.Retry.MaxBackoff
	}
	if j.Extra() {
		longest = max(longest, hold)
	}
	if longest == 0 {
		longest = poise.MaxWait
	}
	return l.queue.Defer(item, j.NotBefore, longest)
}

// hold is how long at most an extra member that gave way is kept back.
func (l *Loop) hold() poise.Span {
	if l.settings.Preempt == nil {
		return 0
	}
	return l.settings.Preempt.Hold
}

// stale says whether what was planned for a job counts no longer though it waits:
// it is held meanwhile, or has another priority, or its gang waits no more as it did.
func (l *Loop) stale(w *Work, j *state.Job) bool {
	if g := l.waitsWith(j); (g != nil) != (w.members != nil) || g != nil && !g.Ready() {
		return true
	}
	return j.Blocked() || j.Priority != w.Job.Priority
}

// Order gives the settings that the jobs of a tenant are ordered by.
func (l *Loop) Order() *queue.Settings { return &l.settings.Queue }
