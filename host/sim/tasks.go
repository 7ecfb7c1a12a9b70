package sim

import (
	"container/heap"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// tasks are what runs in a world, and when it ends: what an engine is to the
// daemon.
type tasks struct {
	ends map[poise.JobID]poise.Time // of those that end
	heap departures                 // also of tasks that have stopped since
}

func newTasks() tasks { return tasks{ends: map[poise.JobID]poise.Time{}} }

// start notes that a job runs from a time on for a span. One of 0, or one beyond
// the end of time, does not end.
func (t *tasks) start(j *state.Job, at poise.Time, span poise.Span) {
	if end := at + poise.Time(span); end > at {
		t.ends[j.ID] = end
		heap.Push(&t.heap, departure{at: end, seq: j.Seq, job: j.ID})
	}
}

// stop forgets a task.
func (t *tasks) stop(id poise.JobID) { delete(t.ends, id) }

// next gives when the first task ends, and of which job.
func (t *tasks) next() (departure, bool) {
	for len(t.heap) > 0 {
		if first := t.heap[0]; t.ends[first.job] == first.at {
			return first, true
		}
		heap.Pop(&t.heap)
	}
	return departure{}, false
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
