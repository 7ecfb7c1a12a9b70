package queue

import "github.com/poise-sched/poise/host/poise"

// job is a waiting job. One is kept for each, so the fields are packed into 48
// bytes; the submit time follows from key and priority.
type job struct {
	id       poise.JobID
	key      int64
	seq      uint64
	group    *group
	priority int32
	pos      int32 // in the heap of its group; ^pos among the delayed
}

func (a *job) delayed() bool { return a.pos < 0 }

// queued is a job in the heap of its group. The key stands here once more
// because it settles nearly every comparison: a heap of a million jobs is then
// walked without fetching the jobs themselves.
type queued struct {
	key int64
	job *job
}

func (a queued) before(b queued) bool {
	if a.key != b.key {
		return a.key > b.key
	}
	return a.job.compare(b.job) < 0
}

func (a queued) setPos(i int) { a.job.pos = int32(i) }

// delayed is a job that may be tried again when it is due.
type delayed struct {
	due     poise.Time
	longest poise.Span
	job     *job
}

func (a delayed) before(b delayed) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return a.job.compare(b.job) < 0
}

func (a delayed) setPos(i int) { a.job.pos = ^int32(i) }

// group holds the waiting jobs of one shape. It is kept while one waits, and it
// is among the ready or the parked groups while one is not delayed.
type group struct {
	shape ShapeID
	size  Size
	jobs  heap[queued] // those not delayed, the one to try first in front
	count int          // all of them
	pos   int          // among the ready groups or the parked ones

	parked  bool
	blocked Causes // while parked: what can help
	version uint64 // while parked: the state that the last attempt saw
}

func (g *group) before(h *group) bool { return g.jobs[0].job.compare(h.jobs[0].job) < 0 }

func (g *group) setPos(i int) { g.pos = i }
