package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// round is the tenants that have a job to plan, in the order of their turns, as
// long as nothing happens but that jobs are tried in vain: then only the place of
// the tenant whose job was tried changes, and a turn costs no look at the others.
type round struct {
	valid bool
	index uint64     // of the state
	now   poise.Time // at which jobs may be tried
	order []turn     // the next one last
}

// turn is a tenant with what its turn goes by.
type turn struct {
	candidate
	rank rank
}

// compare is positive where a goes before b, so that the first comes last.
func (a turn) compare(b turn) int {
	if order := a.rank.compare(b.rank); order != 0 {
		return -order
	}
	switch {
	case a.head.Before(b.head):
		return 1
	case b.head.Before(a.head):
		return -1
	}
	return 0
}

// first gives the list of the tenant whose turn it is, see turn, or nil where no
// job may be tried now or every lane that has one is busy or rests.
func (l *Loop) first(now poise.Time) *list {
	r := &l.round
	if nested := l.state.Policies().Nested(); nested || !r.valid || r.index != l.state.Index() || r.now != now {
		ready := l.gather(now)
		switch {
		case len(ready) == 0:
			return nil
		case nested:
			return l.turn(ready, 0).list
		}
		r.valid, r.index, r.now, r.order = true, l.state.Index(), now, r.order[:0]
		for _, c := range ready {
			r.order = append(r.order, turn{c, l.rank(c, c.list.tenant, false)})
		}
		slices.SortFunc(r.order, turn.compare)
	}
	for len(r.order) > 0 {
		last := len(r.order) - 1
		of := r.order[last].list
		r.order = r.order[:last]
		if of.lane.work == nil {
			return of
		}
		r.valid = false // it has its turn once the lane is free
	}
	return nil
}

// gather gives the tenants that have a job that may be tried now.
func (l *Loop) gather(now poise.Time) []candidate {
	ready := l.ready[:0]
	for _, each := range l.lists {
		if each.lane.work != nil || each.lane.rests(now) {
			continue
		}
		if head, ok := l.peek(each, now); ok {
			ready = append(ready, candidate{each, head})
		}
	}
	l.ready = ready
	return ready
}

// parked gives a tenant whose job was tried in vain its next turn.
func (r *round) parked(l *Loop, of *list, w *Work, now poise.Time) {
	if r.valid = r.valid && !w.lane.away && r.index == l.state.Index() && r.now == now; !r.valid {
		return
	}
	head, ok := l.peek(of, now)
	if !ok {
		return
	}
	c := candidate{of, head}
	next := turn{c, l.rank(c, of.tenant, false)}
	at, _ := slices.BinarySearchFunc(r.order, next, turn.compare)
	r.order = slices.Insert(r.order, at, next)
}

// peek gives the first job of a tenant that may be tried now. Those that were woken
// for room on a few rows, where others have taken it since, are parked again.
func (l *Loop) peek(of *list, now poise.Time) (queue.Head, bool) {
	for {
		head, ok := of.queue.Peek(now)
		if !ok || head.Rows() == nil || slices.ContainsFunc(head.Rows(), func(row uint32) bool { return l.mayFit(row)(head.Shape()) }) {
			return head, ok
		}
		of.queue.ParkHead(l.state.Index(), now)
	}
}

// mayFit says of shapes whether a row has room for their jobs now.
func (l *Loop) mayFit(row uint32) func(queue.ShapeID) bool {
	view := l.state.View()
	return func(id queue.ShapeID) bool {
		e := l.shapes.by[id]
		return e == nil || e.ask == nil || view.HasRoom(row, e.ask)
	}
}

// freedRow gives the row on which an event leaves more idle, as the state is before
// it.
func (l *Loop) freedRow(body poise.Body) (row uint32, ok bool) {
	var j *state.Job
	switch b := body.(type) {
	case poise.JobFinished:
		j = l.state.Job(b.Job)
	case poise.JobRequeued:
		j = l.state.Job(b.Job)
	}
	if j == nil || j.Waiting() {
		return 0, false
	}
	return j.Task().Row(l.state.View())
}
