package loop

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
)

// countedAhead bounds the jobs that a Standing counts.
const countedAhead = 10_000

// Standing is where a job that waits stands: what goes before it in the order of
// its tenant, and which other tenants' turn it is first. An event that helps
// only some of them may let it start before all of these.
type Standing struct {
	queue.Ahead
	Tenants int // other tenants that have jobs waiting and go first
	Waiting int // jobs of all other tenants that wait
}

// Standing says where a job stands in the queue; false where it has no place
// there: it is being planned now, or is not to be tried yet. It costs in the
// number of tenants, shapes and jobs ahead, of which it counts 10,000.
func (l *Loop) Standing(id poise.JobID) (Standing, bool) {
	j := l.state.Job(id)
	if j == nil || !j.Waiting() || l.lists[j.Tenant] == nil {
		return Standing{}, false
	}
	own := l.lists[j.Tenant]
	head, ok := own.queue.Head(id)
	if !ok {
		return Standing{}, false
	}
	var s Standing
	s.Ahead, _ = own.queue.Ahead(id, countedAhead)
	mine := candidate{own, head}
	for _, each := range l.lists {
		if each == own {
			continue
		}
		s.Waiting += each.queue.Len()
		if first, ok := each.queue.First(); ok && l.turn([]candidate{mine, {each, first}}, 0).list == each {
			s.Tenants++
		}
	}
	return s, true
}

// Alike gives the jobs that are not tried because one that was, and that they are
// interchangeable with, could not be placed, see queue.Alike.
func (l *Loop) Alike(id poise.JobID) []poise.JobID {
	j := l.state.Job(id)
	if j == nil || l.lists[j.Tenant] == nil {
		return nil
	}
	return l.lists[j.Tenant].queue.Alike(id)
}

// Like gives the job that was tried for a job that waits and that is
// interchangeable with it, see queue.Like.
func (l *Loop) Like(id poise.JobID) (poise.JobID, bool) {
	j := l.state.Job(id)
	if j == nil || l.lists[j.Tenant] == nil {
		return "", false
	}
	return l.lists[j.Tenant].queue.Like(id)
}
