package queue

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Tried is what a Queue knows of attempts, beside the jobs that wait: a queue of the
// same jobs that is given it goes on as the other one would. It shares nothing with
// either.
type Tried struct {
	sweepAt poise.Time
	groups  []triedGroup
}

// triedGroup is a group that is parked, or was woken for a few rows.
type triedGroup struct {
	job     poise.JobID // one of it
	parked  bool
	longer  bool       // of those that wait because they are long
	run     poise.Span // of these
	blocked Causes
	version uint64
	rows    []uint32
}

// Tried gives what is known of attempts now. It costs in the number of shapes.
func (q *Queue) Tried() Tried {
	t := Tried{sweepAt: q.sweepAt, groups: make([]triedGroup, 0, len(q.parked))}
	note := func(g *group) {
		t.groups = append(t.groups, triedGroup{
			job: g.jobs[0].job.id, parked: g.parked, longer: g.of != nil, run: g.run,
			blocked: g.blocked, version: g.version, rows: slices.Clone(g.rows),
		})
	}
	for _, g := range q.parked {
		note(g)
	}
	for _, g := range q.ready {
		if g.rows != nil {
			note(g)
		}
	}
	return t
}

// Resume makes a queue to which all that waits was pushed go on as the one did that
// Tried was asked of. Jobs that came since wait with those of their shape.
func (q *Queue) Resume(t *Tried, now poise.Time) {
	q.release(now)
	for i := range t.groups { // first, as they are parts of groups
		if e := &t.groups[i]; e.longer {
			q.resumeLonger(e, now)
		}
	}
	for i := range t.groups {
		e := &t.groups[i]
		if j := q.jobs[e.job]; !e.longer && j != nil && !j.delayed() && j.group.of == nil {
			j.group.rows, j.group.blocked = slices.Clone(e.rows), e.blocked
			if e.parked {
				q.park(j.group, e.blocked, e.version, now)
			}
		}
	}
	q.sweepAt = t.sweepAt
}

// resumeLonger takes those that wait because they are long out of a ready group.
func (q *Queue) resumeLonger(e *triedGroup, now poise.Time) {
	j := q.jobs[e.job]
	if j == nil || j.delayed() {
		return
	}
	g := j.group
	g.longer = &group{shape: g.shape, size: g.size, of: g, run: e.run, blocked: e.blocked, version: e.version}
	q.list(g.longer, now)
	q.ready.remove(g.pos)
	for _, each := range slices.Clone(g.jobs) {
		if g.longer.takes(each.job) {
			g.jobs.remove(int(each.job.pos))
			g.longer.take(each.job)
		}
	}
	if len(g.jobs) > 0 {
		q.ready.push(g)
	}
}
