package sim

import "github.com/poise-sched/poise/host/poise"

// departure is the end of a task's run time.
type departure struct {
	at  poise.Time
	seq uint64 // order of placement, so that equal times have an order
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
