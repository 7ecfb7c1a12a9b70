package sched

import "github.com/poise-sched/poise/host/state"

// cacheRows bounds the rows of all rankings together: about 40 bytes each, so
// 160 MB, or 40 shapes on 100,000 nodes.
const cacheRows = 4 << 20

// rankingRows is what a ranking counts beside its rows, so that on a small
// fleet, too, there are only so many of them.
const rankingRows = 64

// cacheKey tells apart the jobs that are not interchangeable.
type cacheKey struct {
	shape uint32
	more  string // see Keyer
}

// cache holds the rankings by job shape and key. Where a new one would be beyond the
// bound, the one that was used longest ago is forgotten.
type cache struct {
	bound          int // rows
	byKey          map[cacheKey]*ranking
	newest, oldest *ranking
}

func newCache(bound int) cache {
	return cache{bound: bound, byKey: map[cacheKey]*ranking{}}
}

// ranking gives what is known for a shape and a key on a fleet of so many rows.
func (c *cache) ranking(shape *state.Shape, more string, rows int) *ranking {
	key := cacheKey{shape.ID, more}
	r := c.byKey[key]
	switch {
	case r == nil:
		for c.oldest != nil && (len(c.byKey)+1)*(rows+rankingRows) > c.bound {
			delete(c.byKey, c.oldest.key)
			c.unlink(c.oldest)
		}
		r = &ranking{key: key, shape: shape}
		c.byKey[key] = r
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
