package sched

import "github.com/poise-sched/poise/host/state"

// cacheRows bounds the rows of all rankings together: about 40 bytes each, so
// 160 MB, or 40 shapes on 100,000 nodes.
const cacheRows = 4 << 20

// rankingRows is what a ranking counts beside its rows, so that on a small
// fleet, too, there are only so many of them.
const rankingRows = 64

// cache holds the rankings by job shape. Where a new one would be beyond the
// bound, the one that was used longest ago is forgotten.
type cache struct {
	bound          int // rows
	byShape        map[uint32]*ranking
	newest, oldest *ranking
}

func newCache(bound int) cache {
	return cache{bound: bound, byShape: map[uint32]*ranking{}}
}

// ranking gives what is known for a shape on a fleet of so many rows.
func (c *cache) ranking(shape *state.Shape, rows int) *ranking {
	r := c.byShape[shape.ID]
	switch {
	case r == nil:
		for c.oldest != nil && (len(c.byShape)+1)*(rows+rankingRows) > c.bound {
			delete(c.byShape, c.oldest.shape.ID)
			c.unlink(c.oldest)
		}
		r = &ranking{shape: shape}
		c.byShape[shape.ID] = r
	case r == c.newest:
		return r
	default:
		c.unlink(r)
	}
	r.older = c.newest
	if c.newest != nil {
		c.newest.newer = r
	} else {
		c.oldest = r
	}
	c.newest = r
	return r
}

func (c *cache) unlink(r *ranking) {
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		c.newest = r.older
	}
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		c.oldest = r.newer
	}
	r.newer, r.older = nil, nil
}
