package main

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/test/fleets"
)

// scale measures what 100,000 nodes cost: of 20 known kinds, of 40 kinds in
// heavy noise, and all different without any structure.
func scale(rounds int) ([]report.Figure, error) {
	const n = 100_000
	formless := fleets.Formless(n, 1)
	known := fleets.Known(n, 20, 0.03, 1).Nodes
	var best time.Duration
	var figures []report.Figure
	for _, c := range []struct {
		name  string
		nodes []poise.Node
		goal  report.Goal
	}{
		{"20 kinds", known, report.AtMost(50)},
		{"40 kinds, 30 % noise", fleets.Known(n, 40, 0.3, 1).Nodes, report.AtMost(50)},
		{"no structure", formless, report.Goal{}},
	} {
		grown := 0.0
		for range rounds {
			began := time.Now()
			bytes, err := growth(c.nodes)
			if err != nil {
				return nil, err
			}
			grown = max(grown, bytes)
			if &c.nodes[0] == &formless[0] {
				best = faster(best, time.Since(began))
			}
		}
		figures = append(figures, report.Figure{Name: "memory, 100,000 nodes: " + c.name, Value: grown / 1e6, Unit: "MB", Goal: c.goal})
	}
	join, err := assign(known, rounds)
	if err != nil {
		return nil, err
	}
	return append(figures,
		report.Figure{Name: "build, 100,000 nodes: no structure", Value: best.Seconds(), Unit: "s", Goal: report.AtMost(5)},
		report.Figure{Name: "assign a node of a known kind", Value: join, Unit: "us", Goal: report.AtMost(1)},
	), nil
}

// growth gives the bytes by which a build takes the heap beyond what it was, at
// its largest, with what is not collected yet. The heap is read every
// millisecond.
func growth(nodes []poise.Node) (float64, error) {
	runtime.GC()
	before := heap()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		largest := before
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				largest = max(largest, heap())
			case <-done:
				peak <- max(largest, heap())
				return
			}
		}
	}()
	m, err := model.Build(nodes, model.Defaults(), nil)
	close(done)
	bytes := float64(<-peak - before)
	runtime.KeepAlive(m)
	return bytes, err
}

// heap gives the bytes in use by objects, dead ones that are not collected yet
// included.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// assign gives the microseconds of putting one node of the model's own into its
// class.
func assign(nodes []poise.Node, rounds int) (float64, error) {
	m, err := model.Build(nodes, model.Defaults(), nil)
	if err != nil {
		return 0, err
	}
	var best time.Duration
	for range rounds {
		began := time.Now()
		for i := range nodes {
			m.Assign(&nodes[i])
		}
		best = faster(best, time.Since(began))
	}
	return float64(best.Nanoseconds()) / 1000 / float64(len(nodes)), nil
}
