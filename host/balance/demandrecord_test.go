package balance

import (
	"testing"

	"github.com/poise-sched/poise/host/state"
)

// The record keeps the kinds that came most often, in order of first arrival,
// and counts them all.
func TestBuildDemand(t *testing.T) {
	w := newWorld(t)
	var seen []state.Seen
	for i := range 2 * maxKinds {
		seen = append(seen, state.Seen{CPU: int64(i), Times: float64(1 + i%2)})
	}
	d := BuildDemand(w.state.View(), seen)
	if d.Epoch != 1 || d.Total != 3*maxKinds || len(d.Kinds) != maxKinds {
		t.Fatalf("epoch %d, total %v, %d kinds, expected 1, %d, %d", d.Epoch, d.Total, len(d.Kinds), 3*maxKinds, maxKinds)
	}
	for i, k := range d.Kinds {
		if k.CPU != int64(2*i+1) || k.Times != 2 {
			t.Fatalf("kind %d: %+v, expected those that came twice, in order", i, k)
		}
	}
	if d := BuildDemand(w.state.View(), seen[:3]); len(d.Kinds) != 3 || d.Total != 4 {
		t.Errorf("%+v, expected all of a short list", d)
	}
}
