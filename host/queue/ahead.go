package queue

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Ahead is what goes before a waiting job in the order of its queue.
type Ahead struct {
	Jobs   int           // how many, at most the limit that was given
	More   bool          // there are more than that
	First  []poise.JobID // the first few of those that were counted, in order
	Parked int           // of Jobs, those that wait for an event that may help them
}

// firstAhead is how many jobs Ahead names.
const firstAhead = 3

// Ahead says which jobs go before a job, ready or parked; those that are delayed
// take no part in the order until they are due. It is found along the heaps, so
// it costs in the number of groups and of jobs that it counts, which limit
// bounds. False means that the job is not here, or is delayed itself.
func (q *Queue) Ahead(id poise.JobID, limit int) (Ahead, bool) {
	j := q.jobs[id]
	if j == nil || j.delayed() {
		return Ahead{}, false
	}
	var a Ahead
	var first []*job
	groups := make([]*group, 0, len(q.ready)+len(q.parked))
	groups = append(append(groups, q.ready...), q.parked...)
	// The groups stand in an order that depends on what was popped before; what
	// is counted, where that is bounded, must not.
	slices.SortFunc(groups, func(g, h *group) int { return g.jobs[0].job.compare(h.jobs[0].job) })
	for _, g := range groups {
		before := g.ahead(j, nil, 0, limit-a.Jobs+1)
		if a.Jobs+len(before) > limit {
			a.More, before = true, before[:limit-a.Jobs]
		}
		a.Jobs += len(before)
		if g.parked {
			a.Parked += len(before)
		}
		first = append(first, before...)
		slices.SortFunc(first, (*job).compare)
		first = first[:min(len(first), firstAhead)]
		if a.More {
			break
		}
	}
	for _, f := range first {
		a.First = append(a.First, f.id)
	}
	return a, true
}

// ahead appends the jobs at and below position i that go before j, up to n in
// all. Whoever does not go before j has nobody below that does.
func (g *group) ahead(j *job, out []*job, i, n int) []*job {
	if i >= len(g.jobs) || len(out) >= n || g.jobs[i].job.compare(j) >= 0 {
		return out
	}
	out = append(out, g.jobs[i].job)
	return g.ahead(j, g.ahead(j, out, 2*i+1, n), 2*i+2, n)
}

// First gives the first job in order, ready or parked; false where there is none.
func (q *Queue) First() (Head, bool) {
	var first *job
	for _, groups := range [][]*group{q.ready, q.parked} {
		for _, g := range groups {
			if j := g.jobs[0].job; first == nil || j.compare(first) < 0 {
				first = j
			}
		}
	}
	return Head{first}, first != nil
}

// Head gives a job that waits, ready or parked, as the head that it may become.
func (q *Queue) Head(id poise.JobID) (Head, bool) {
	j := q.jobs[id]
	return Head{j}, j != nil && !j.delayed()
}

// Alike gives the jobs that wait parked for what this one waits for, itself among
// them, none where it is not parked.
func (q *Queue) Alike(id poise.JobID) []poise.JobID {
	j := q.jobs[id]
	if j == nil || j.delayed() || !j.group.parked {
		return nil
	}
	all := make([]poise.JobID, 0, len(j.group.jobs))
	for _, each := range j.group.jobs {
		all = append(all, each.job.id)
	}
	return all
}

// Like gives the first job, in order, of those that wait parked for what this one
// waits for: the last attempt of their shape was on it, or on one that went before
// and is gone. False where the job is not parked.
func (q *Queue) Like(id poise.JobID) (poise.JobID, bool) {
	j := q.jobs[id]
	if j == nil || j.delayed() || !j.group.parked {
		return "", false
	}
	return j.group.jobs[0].job.id, true
}
