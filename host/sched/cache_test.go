package sched

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// The cache holds the shapes used last, as many as the bound lets in, and one
// where it lets in none.
func TestCacheForgetsWhatWasUsedLongestAgo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 4).Draw(t, "room")
		const rows = 36
		c := newCache(room * (rows + rankingRows))
		known := map[uint32]*ranking{}
		var used []uint32 // the latest last
		for range rapid.IntRange(1, 30).Draw(t, "uses") {
			id := rapid.Uint32Range(1, 7).Draw(t, "shape")
			r := c.ranking(&state.Shape{ID: id}, "", rows)
			i := slices.Index(used, id)
			if i >= 0 {
				if r != known[id] {
					t.Fatalf("shape %d: a new ranking, expected the one from before", id)
				}
				used = slices.Delete(used, i, i+1)
			} else if r == known[id] {
				t.Fatalf("shape %d: the ranking is still known, expected that it was forgotten", id)
			}
			known[id] = r
			used = append(used, id)
			used = used[max(len(used)-max(room, 1), 0):]
			var linked []uint32
			for r := c.oldest; r != nil; r = r.newer {
				linked = append(linked, r.shape.ID)
			}
			if !slices.Equal(linked, used) || len(c.byKey) != len(used) || c.newest.shape.ID != id {
				t.Fatalf("the cache holds %v of %d, expected %v", linked, len(c.byKey), used)
			}
		}
	})
}

// Without nodes a ranking counts, too: the cache does not grow for ever.
func TestCacheOfAnEmptyFleetIsBounded(t *testing.T) {
	c := newCache(10 * rankingRows)
	for id := range uint32(1000) {
		c.ranking(&state.Shape{ID: id}, "", 0)
	}
	if len(c.byKey) != 10 {
		t.Errorf("%d rankings, expected 10", len(c.byKey))
	}
}
