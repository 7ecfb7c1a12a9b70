package preempt

import (
	"cmp"
	"math"

	"github.com/poise-sched/poise/host/poise"
)

// cost is the harm of ending tasks, see Find.
type cost struct {
	displaced bool  // others than extra members
	priority  int32 // the highest of these
	victims   int
	lost      poise.Span
	rank      uint64 // of the row
}

const lowest = math.MinInt32

func (c *cost) compare(o *cost) int {
	if c.displaced != o.displaced {
		if o.displaced {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(c.priority, o.priority), cmp.Compare(c.victims, o.victims), cmp.Compare(c.lost, o.lost), cmp.Compare(c.rank, o.rank))
}

// add makes it the cost of both together, on the row that it has.
func (c *cost) add(o *cost) {
	c.displaced = c.displaced || o.displaced
	c.priority = max(c.priority, o.priority)
	c.victims += o.victims
	c.lost += o.lost
}

// costOf gives the cost of one victim, without a row.
func costOf(v *victim) cost {
	c := cost{displaced: !v.extra, priority: v.priority, victims: len(v.jobs), lost: v.lost}
	if v.extra {
		c.priority = lowest
	}
	return c
}
