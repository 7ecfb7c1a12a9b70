package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
)

// turn is how many placements one of the worlds makes before the next is on: what
// other programs take from the caches is to cost all of them the same. A turn is
// held against the native one just before it, and the median of these ratios
// counts: the fastest rounds of two worlds may be from different moments.
const turn = 500

// incremental times a placement on 10,000 nodes with 16 job shapes in rotation,
// where a plugin's kept answers make it look at changed rows only, against the
// same with the kernel as a native scorer.
func (b *bench) incremental() ([]report.Figure, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close(context.Background()) }()
	kinds := []string{"native", "C", "Rust"}
	worlds := make([]*world, len(kinds))
	for i, file := range []string{"score_c.wasm", "score_c.wasm", "score_rs.wasm"} {
		bin, err := os.ReadFile(filepath.Join(b.kernels, file))
		if err != nil {
			return nil, err
		}
		m, err := e.Load(context.Background(), bin)
		if err != nil {
			return nil, err
		}
		g, err := policy.NewGuest(m, nil)
		if err != nil {
			return nil, err
		}
		defer g.Close()
		if worlds[i], err = newWorld(passRows, g.Symbols()); err != nil {
			return nil, err
		}
		if kinds[i] == "native" {
			worlds[i].pipeline = sched.NewPipeline(sched.Policy{Name: "native", Scorer: &native{}})
		} else if err := worlds[i].under(g); err != nil {
			return nil, err
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var nativeTime time.Duration
	ratios := make([][]float64, len(kinds))
	for round := range b.rounds + 1 {
		var whole time.Duration
		for range passRows / turn {
			var first time.Duration
			for i, w := range worlds {
				began := processorTime()
				for range turn {
					if err := w.place(passRows); err != nil {
						return nil, err
					}
				}
				d := processorTime() - began
				if i == 0 {
					first = d
					whole += d
				}
				ratios[i] = append(ratios[i], float64(d)/float64(first))
			}
		}
		// The first round fills the fleet and the caches.
		if round == 0 {
			clear(ratios)
		} else if nativeTime == 0 || whole < nativeTime {
			nativeTime = whole
		}
	}
	figures := []report.Figure{{Name: "placement, 10,000 nodes, 16 shapes, native kernel", Value: float64(nativeTime.Nanoseconds()) / passRows / 1000, Unit: "us"}}
	for i, name := range kinds[1:] {
		r := ratios[i+1]
		slices.Sort(r)
		figures = append(figures, report.Figure{
			Name: "the same, row-pure plugin in " + name, Value: r[len(r)/2], Unit: "x native", Goal: report.AtMost(1.2),
		})
	}
	return figures, nil
}
