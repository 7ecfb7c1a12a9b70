package balance

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// maxKinds bounds the kinds of task of a record: policy plugins see so many.
const maxKinds = 1024

// BuildDemand gives the record of what jobs have been asking for, for the next
// epoch: the kinds that came most often, in order of first arrival. Total counts
// all of them.
func BuildDemand(snap *state.Snapshot, seen []state.Seen) *poise.Demand {
	d := &poise.Demand{Epoch: 1, Arrivals: snap.Arrivals()}
	if last := snap.Demand(); last != nil {
		d.Epoch = last.Epoch + 1
	}
	least := 0.0
	if len(seen) > maxKinds {
		times := make([]float64, len(seen))
		for i := range seen {
			times[i] = seen[i].Times
		}
		slices.SortFunc(times, func(a, b float64) int { return cmp.Compare(b, a) })
		least = times[maxKinds-1]
	}
	for i := range seen {
		s := &seen[i]
		d.Total += s.Times
		if s.Times < least || len(d.Kinds) == maxKinds {
			continue
		}
		d.Kinds = append(d.Kinds, poise.TaskKind{
			Kind: s.Kind, CPU: s.CPU, Memory: s.Memory, Count: s.Count, Milli: s.Milli, Models: s.Models, Times: s.Times,
		})
	}
	return d
}
