package queue

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// room are the causes that a task's end may help on its node: too little idle.
const room = Devices | 1<<(lastDimension+1) - 1

// fewRows is how many rows a group remembers that it was woken for. Beyond, it is
// tried whatever they are.
const fewRows = 8

// WakeRow is Wake for an event that leaves more idle on one row and else helps no
// node: a group that waits for nothing but room is woken only where may says that
// its jobs would have it there. It remembers the row, see Head.Rows.
func (q *Queue) WakeRow(help Causes, row uint32, version uint64, may func(ShapeID) bool) {
	q.helps(help, version)
	for _, g := range q.ready {
		if len(g.rows) == fewRows {
			g.rows = nil
		}
		if g.rows != nil && !slices.Contains(g.rows, row) {
			g.rows = append(g.rows, row)
		}
	}
	for i := len(q.parked) - 1; i >= 0; i-- {
		g := q.parked[i]
		if g.blocked&help == 0 || g.version >= version {
			continue
		}
		forRoom := g.blocked&help&^room == 0
		if forRoom && !may(g.shape) {
			g.blocked |= room // what the row lacks now may be another resource than before
			continue
		}
		q.unpark(g)
		if forRoom && g.of == nil && g.longer == nil {
			g.rows = append(g.rows, row)
		}
	}
}

// Rows gives the rows that the job's group was woken for, where it was for nothing
// else: if none of them has room for it, an attempt is in vain. nil is for anything.
func (h Head) Rows() []uint32 { return h.job.group.rows }

// Shape is the job's shape.
func (h Head) Shape() ShapeID { return h.job.group.shape }

// ParkHead parks the group of the job that Peek gives again, without an attempt:
// no row that it was woken for has room at that version. What they lack now may be
// another resource than before, so that any may help.
func (q *Queue) ParkHead(version uint64, now poise.Time) {
	g := q.ready[0]
	q.park(g, g.blocked|room, version, now)
}
