package sim

import (
	"container/heap"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// tasks are what runs in a world, and when it ends: what an engine is to the
// daemon.
type tasks struct {
	running map[poise.JobID]task
	ends    departures
	stale   int // how many of ends are of tasks that stopped before
}

// task is what runs of a job.
type task struct {
	at, end poise.Time
	ends    bool // at end; else it does not
	yields  bool // it has not done its work at end, and waits again
	holds   resource.Vector
	tenant  poise.TenantID
}

func newTasks() tasks { return tasks{running: map[poise.JobID]task{}} }

// start notes that a job runs from a time on for a span. One of 0, or one beyond
// the end of time, does not end.
func (t *tasks) start(j *state.Job, at poise.Time, span poise.Span) task {
	started := task{at: at, end: at + poise.Time(span), holds: requestOf(j.Shape), tenant: j.Tenant}
	started.ends = started.end > at
	t.running[j.ID] = started
	if started.ends {
		heap.Push(&t.ends, departure{at: started.end, seq: j.Seq, job: j.ID})
	}
	return started
}

// yield has a task end by a time, and wait again unless it is done before.
func (t *tasks) yield(j *state.Job, until poise.Time) {
	now := t.running[j.ID]
	if now.ends && now.end <= until {
		return
	}
	if now.ends {
		t.stale++
	}
	now.end, now.ends, now.yields = until, true, true
	t.running[j.ID] = now
	heap.Push(&t.ends, departure{at: until, seq: j.Seq, job: j.ID})
}

// stop forgets a task and gives it.
func (t *tasks) stop(id poise.JobID) task {
	stopped := t.running[id]
	delete(t.running, id)
	switch {
	case !stopped.ends:
	case t.ends[0].job == id && t.ends[0].at == stopped.end:
		heap.Pop(&t.ends)
	default:
		t.stale++
	}
	return stopped
}

// next gives when the first task ends, and of which job.
func (t *tasks) next() (departure, bool) {
	for t.stale > 0 && !t.stands(t.ends[0]) {
		heap.Pop(&t.ends)
		t.stale--
	}
	if len(t.ends) == 0 {
		return departure{}, false
	}
	return t.ends[0], true
}

// stands says whether a task ends then.
func (t *tasks) stands(d departure) bool {
	of, ok := t.running[d.job]
	return ok && of.ends && of.end == d.at
}

// departure is the end of a task's run time.
type departure struct {
	at  poise.Time
	seq uint64 // order of arrival, so that equal times have an order
	job poise.JobID
}

// departures is a heap by (at, seq) for container/heap.
type departures []departure

// Len implements heap.Interface.
func (d departures) Len() int { return len(d) }

// Less implements heap.Interface.
func (d departures) Less(i, j int) bool {
	if d[i].at != d[j].at {
		return d[i].at < d[j].at
	}
	return d[i].seq < d[j].seq
}

// Swap implements heap.Interface.
func (d departures) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *departures) Push(x any) { *d = append(*d, x.(departure)) }

// Pop implements heap.Interface.
func (d *departures) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = (*d)[:last]
	return x
}
