package sim

import (
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Cycles finds jobs that displace each other in a circle: A makes room for B, which
// makes room for A, or over more of them, and none of them gets on in between (B31). A
// job gets on when it ends, or runs for at least Least before it makes room. The zero
// Cycles, with Least set, has seen nothing.
type Cycles struct {
	Least poise.Span // 0: any run is progress enough

	Found     int                                  // circles that were closed
	displaced map[poise.JobID]map[poise.JobID]bool // by job, those that made room for it since they and it got on
	began     map[poise.JobID]poise.Time
}

// Follow takes in the next event.
func (c *Cycles) Follow(ev poise.Event) {
	if c.displaced == nil {
		c.displaced, c.began = map[poise.JobID]map[poise.JobID]bool{}, map[poise.JobID]poise.Time{}
	}
	switch b := ev.Body.(type) {
	case poise.JobPlaced:
		c.began[b.Placement.Job] = ev.At
	case poise.GangPlaced:
		for i := range b.Placements {
			c.began[b.Placements[i].Job] = ev.At
		}
	case poise.JobFinished:
		c.forget(b.Job)
	case poise.JobWithdrawn:
		c.forget(b.Job)
	case poise.JobPreempted:
		if poise.Span(ev.At-c.began[b.Job]) >= max(c.Least, 1) {
			c.forget(b.Job)
		}
		if c.reaches(b.Job, b.By, map[poise.JobID]bool{}) {
			c.Found++
		}
		if c.displaced[b.By] == nil {
			c.displaced[b.By] = map[poise.JobID]bool{}
		}
		c.displaced[b.By][b.Job] = true
	}
}

// forget drops what is known of a job that gets on.
func (c *Cycles) forget(id poise.JobID) {
	delete(c.displaced, id)
	for _, those := range c.displaced {
		delete(those, id)
	}
}

// reaches says whether one job displaced another, itself or by those that it did.
func (c *Cycles) reaches(from, to poise.JobID, seen map[poise.JobID]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(slices.Sorted(maps.Keys(c.displaced[from])), func(id poise.JobID) bool {
		return id == to || c.reaches(id, to, seen)
	})
}
