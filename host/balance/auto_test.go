package balance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// Each row gets the loss of the form that ranks it, and is explained by it.
func TestAutoChoosesTheForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, params := drawWorld(t, everyday), drawParams(t)
		w.build(&params)
		tiered := rapid.Bool().Draw(t, "tiered")
		weights := Weights{"gpu": 0.5}
		auto := NewAuto(newSpread(t, weights), newDemand(t, params), tiered)
		spread, demand := newSpread(t, weights), newDemand(t, params)
		for range 3 {
			j := w.submit(drawRequest(t, everyday))
			rows, snap := w.fitting(j), w.state.View()
			loss, mask := w.score(auto, j, rows)
			bySpread, _ := w.score(spread, j, rows)
			byDemand, masks := w.score(demand, j, rows)
			for i, row := range rows {
				want, wantMask, form := byDemand[i], masks[i], "demand"
				if j.Shape.Request.Device.Count == 0 && (!tiered || snap.Devices(row) == 0) {
					want, wantMask, form = bySpread[i], 0, "spread"
				}
				if loss[i] != want || mask[i] != wantMask {
					t.Fatalf("loss %v, devices %b, expected %v, %b by %s", loss[i], mask[i], want, wantMask, form)
				}
				chosen := devicesOf(mask[i])
				if chosen == nil {
					chosen = devicesFor(snap, row, &j.Shape.Request.Device)[:j.Shape.Request.Device.Count]
				}
				formula, columns := auto.Explain(snap, j, row, chosen)
				neutral := 0.0
				if form == "spread" {
					neutral = 1
				}
				checkColumns(t, columns, loss[i], neutral)
				if formula != form {
					t.Fatalf("explained by %s, expected %s", formula, form)
				}
			}
		}
	})
}

// A batch of no rows, of rows with devices alone and of rows without.
func TestAutoOfOneSort(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("c", 8000, 8*mib, 0, "")})
	w.apply(poise.NodeJoined{Node: node("g", 8000, 8*mib, 2, "")})
	w.submit(request(2000, mib, 1, 500))
	w.build(&params)
	auto := NewAuto(newSpread(t, nil), newDemand(t, params), true)
	if auto.Epoch(w.state.View()) != 1 {
		t.Errorf("epoch %d, expected 1", auto.Epoch(w.state.View()))
	}
	j := w.submit(request(8000, 0, 0, 0))
	both, _ := w.score(auto, j, []uint32{1, 0})
	for i, rows := range [][]uint32{{1}, {0}} {
		if loss, _ := w.score(auto, j, rows); loss[0] != both[i] || loss[0] == 0 {
			t.Errorf("row %d alone: loss %v, expected %v as beside another, and not 0", rows[0], loss[0], both[i])
		}
	}
	if loss, _ := w.score(auto, j, nil); len(loss) != 0 {
		t.Errorf("losses %v of no rows, expected none", loss)
	}
}

// A later profile changes the losses, and a scorer that has seen the one before
// gives the new ones at once.
func TestAutoFollowsTheEpoch(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("g", 8000, 8*mib, 2, "")})
	auto := NewAuto(newSpread(t, nil), newDemand(t, params), true)
	j := w.submit(request(2000, mib, 1, 500))
	var losses []float64
	for range 3 {
		loss, _ := w.score(auto, j, []uint32{0})
		losses = append(losses, loss[0])
		w.submit(request(6000, mib, 1, poise.WholeDevice))
		w.build(&params)
	}
	if losses[0] != 0 || slices.Index(losses, losses[2]) != 2 {
		t.Errorf("losses %v, expected 0 before the first profile and another after each", losses)
	}
}

func BenchmarkScore(b *testing.B) {
	w, params := newWorld(b), Defaults()
	rows := make([]uint32, 1024)
	for i := range rows {
		n := node(fmt.Sprint("n", i), 64_000+int64(i%7)*8000, 1<<38, 8, "")
		w.apply(poise.NodeJoined{Node: n})
		w.run(n.Name, request(int64(i%32)*1000, 1<<30, 1, int32(1+i%999)), uint16(i%8))
		rows[i] = uint32(i)
	}
	w.build(&params)
	f := func(name string, s scorer, r poise.Request) {
		b.Run(name, func(b *testing.B) {
			batch := &state.Batch{Snap: w.state.View(), Job: w.submit(r), Rows: rows}
			loss, mask := make([]float64, len(rows)), make([]uint32, len(rows))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Score(batch, loss, mask); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
		})
	}
	f("spread", newSpread(b, nil), request(2000, 1<<30, 0, 0))
	f("demand-share", newDemand(b, params), request(2000, 1<<30, 1, 300))
	f("demand-whole", newDemand(b, params), request(2000, 1<<30, 1, poise.WholeDevice))
}
