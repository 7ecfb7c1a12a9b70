package queue

import (
	"math/bits"

	"github.com/poise-sched/poise/host/poise"
)

// Park hands back a popped job that could not be placed and parks all jobs of
// its shape: none of them is popped before an event helps.
//
// Blocked must hold Joined and, for each node of the snapshot, a cause for which
// it was refused; one is enough, as the node cannot take the job while that
// cause stands. Version is that of the snapshot that the attempt saw, by
// the counter that is given to Wake. If an event that helps has come about
// since, the attempt has not seen it and the group is ready again at once. An
// answer older than the one that parked the group changes nothing. Errors are
// those of Push.
func (q *Queue) Park(item Item, blocked Causes, version uint64, now poise.Time) error {
	j, err := q.admit(&item)
	if err != nil {
		return err
	}
	q.enqueue(j)
	g := j.group
	switch {
	case g.parked && version <= g.version:
	case !q.missed(blocked, version):
		q.park(g, blocked, version, now)
	case g.parked:
		q.unpark(g)
	}
	return nil
}

// Wake makes the parked groups ready that an event may help, and gives their
// number. Version is that of the state after the event; a group whose attempt
// has seen that state stays parked. An event that helps nobody, such as a
// heartbeat or a placement, has an empty set, which costs nothing.
//
// A group that is woken is tried at once, however often it was woken in vain:
// the event has changed a row or a few, answers for all others are cached per
// shape, so an attempt costs no more than the event itself did. A delay would
// save next to nothing and would let later jobs take what the first in order
// was waiting for.
func (q *Queue) Wake(help Causes, version uint64) int {
	if help == 0 {
		return 0
	}
	q.helps(help, version)
	for _, g := range q.ready {
		if g.blocked&help != 0 {
			g.rows = nil
		}
	}
	woken := 0
	// From the end, because unlisting fills the gap with the last group.
	for i := len(q.parked) - 1; i >= 0; i-- {
		if g := q.parked[i]; g.blocked&help != 0 && g.version < version {
			q.unpark(g)
			woken++
		}
	}
	return woken
}

// helps takes down which causes an event helps.
func (q *Queue) helps(help Causes, version uint64) {
	for rest := uint64(help); rest != 0; rest &= rest - 1 {
		b := bits.TrailingZeros64(rest)
		q.helped[b] = max(q.helped[b], version)
	}
}

// sweep makes all parked groups ready when it is time, in case an event was
// lost or its causes were wrong. A time of sweep that is too far off shows that
// the clock was set back; then it is due as well.
func (q *Queue) sweep(now poise.Time) {
	if len(q.parked) == 0 || now < q.sweepAt && q.sweepAt <= later(now, q.settings.Sweep) {
		return
	}
	q.TryAll()
}

// missed says whether an event that helps came after the version.
func (q *Queue) missed(blocked Causes, version uint64) bool {
	for rest := uint64(blocked); rest != 0; rest &= rest - 1 {
		if q.helped[bits.TrailingZeros64(rest)] > version {
			return true
		}
	}
	return false
}

// park moves a ready group to the parked ones, or renews why it is there.
func (q *Queue) park(g *group, blocked Causes, version uint64, now poise.Time) {
	g.blocked, g.version, g.rows = blocked, version, nil
	if g.parked {
		return
	}
	q.ready.remove(g.pos)
	q.list(g, now)
}

// list puts a group among the parked ones.
func (q *Queue) list(g *group, now poise.Time) {
	if len(q.parked) == 0 {
		q.sweepAt = later(now, q.settings.Sweep)
	}
	g.parked = true
	g.pos = len(q.parked)
	q.parked = append(q.parked, g)
}

// unpark makes a parked group ready.
func (q *Queue) unpark(g *group) {
	q.unlist(g)
	g.rows = nil
	if g.of != nil {
		q.rejoin(g)
		return
	}
	q.ready.push(g)
	q.skim(g)
}

// unlist takes a group out of the parked ones.
func (q *Queue) unlist(g *group) {
	last := len(q.parked) - 1
	moved := q.parked[last]
	q.parked[g.pos] = moved
	moved.pos = g.pos
	q.parked[last] = nil
	q.parked = q.parked[:last]
	g.parked = false
}
