package store

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a transaction holds, what stays of it is the last row of each identity,
// once, in the order in which it came; nothing of the caller's changes.
func TestLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var group []*Pending
		jobs, places := map[string]JobRow{}, map[string]PlacementRow{}
		came := 0
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			var b Batch
			for range rapid.IntRange(0, 5).Draw(t, "rows") {
				id := fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "id"))
				came++
				if rapid.Bool().Draw(t, "job") {
					b.Jobs = append(b.Jobs, JobRow{ID: id, Changed: int64(came)})
					jobs[id] = b.Jobs[len(b.Jobs)-1]
				} else {
					b.Placements = append(b.Placements, PlacementRow{ID: id, Placed: int64(came)})
					places[id] = b.Placements[len(b.Placements)-1]
				}
			}
			group = append(group, &Pending{batch: b})
		}
		rows := func(batches []Batch) (n int) {
			at := int64(0)
			for _, b := range batches {
				for _, j := range b.Jobs {
					if n++; j.Changed < at {
						t.Fatalf("job %q comes before one that came earlier", j.ID)
					}
					at = j.Changed
				}
			}
			at = 0
			for _, b := range batches {
				for _, p := range b.Placements {
					if n++; p.Placed < at {
						t.Fatalf("placement %q comes before one that came earlier", p.ID)
					}
					at = p.Placed
				}
			}
			return n
		}
		left := latest(group)
		if n := rows(left); n != len(jobs)+len(places) {
			t.Errorf("%d rows, expected %d", n, len(jobs)+len(places))
		}
		for _, b := range left {
			for _, j := range b.Jobs {
				if !reflect.DeepEqual(j, jobs[j.ID]) {
					t.Errorf("job %q as it was %d, expected %d", j.ID, j.Changed, jobs[j.ID].Changed)
				}
			}
			for _, p := range b.Placements {
				if !reflect.DeepEqual(p, places[p.ID]) {
					t.Errorf("placement %q as it was %d, expected %d", p.ID, p.Placed, places[p.ID].Placed)
				}
			}
		}
		given := make([]Batch, len(group))
		for i, p := range group {
			given[i] = p.batch
		}
		if n := rows(given); n != came {
			t.Errorf("the caller has %d rows left, expected all %d", n, came)
		}
	})
}
