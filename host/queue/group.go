package queue

import "github.com/poise-sched/poise/host/poise"

// job is a waiting job. One is kept for each, so the fields are packed into 56
// bytes; the submit time follows from key and priority.
type job struct {
	id       poise.JobID
	key      int64
	seq      uint64
	group    *group
	run      poise.Span // declared run time, 0 = none
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
	blocked Causes   // while parked: what can help
	version uint64   // while parked: the state that the last attempt saw
	rows    []uint32 // while ready: what it was woken for, nil = for anything

	// Those of the shape that wait because they are long, parked as a group beside
	// this one, nil = none; count is kept here for both.
	longer *group
	of     *group     // of a group of longer ones: the one that it is of
	run    poise.Span // of the same: the least run time in it, 0 = none declared
}

func (g *group) before(h *group) bool { return g.jobs[0].before(h.jobs[0]) }

func (g *group) setPos(i int) { g.pos = i }
