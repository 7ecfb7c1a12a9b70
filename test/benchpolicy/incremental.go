package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
)

// turn is how many placements one of the worlds makes before the next is on: what
// other programs take from the caches is to cost all of them the same.
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
	times := make([]time.Duration, len(kinds))
	for round := range b.rounds + 1 {
		sums := make([]time.Duration, len(kinds))
		for range passRows / turn {
			for i, w := range worlds {
				began := processorTime()
				for range turn {
					if err := w.place(passRows); err != nil {
						return nil, err
					}
				}
				sums[i] += processorTime() - began
			}
		}
		// The first round fills the fleet and the caches.
		for i, d := range sums {
			if round > 0 && (times[i] == 0 || d < times[i]) {
				times[i] = d
			}
		}
	}
	figures := []report.Figure{{Name: "placement, 10,000 nodes, 16 shapes, native kernel", Value: float64(times[0].Nanoseconds()) / passRows / 1000, Unit: "us"}}
	for i, name := range kinds[1:] {
		figures = append(figures, report.Figure{
			Name: "the same, row-pure plugin in " + name, Value: float64(times[i+1]) / float64(times[0]), Unit: "x native", Goal: report.AtMost(1.2),
		})
	}
	return figures, nil
}
