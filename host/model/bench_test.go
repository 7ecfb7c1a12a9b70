package model_test

import (
	"testing"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/test/fleets"
)

func BenchmarkBuild(b *testing.B) {
	f := func(name string, nodes []poise.Node) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := model.Build(nodes, model.Defaults(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	f("known/1000", fleets.Known(1000, 20, 0.03, 1).Nodes)
	f("known/10000", fleets.Known(10_000, 20, 0.03, 1).Nodes)
	f("known/100000", fleets.Known(100_000, 20, 0.03, 1).Nodes)
	f("noisy/100000", fleets.Known(100_000, 40, 0.3, 1).Nodes)
	f("formless/100000", fleets.Formless(100_000, 1))
}

// BenchmarkRebuild is a build that follows another.
func BenchmarkRebuild(b *testing.B) {
	f := fleets.Known(100_000, 20, 0.03, 1)
	was, err := model.Build(f.Nodes, model.Defaults(), nil)
	if err != nil {
		b.Fatal(err)
	}
	f.Churn(0.05)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := model.Build(f.Nodes, model.Defaults(), was); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAssign is a node that joins: of a known cell, or near one.
func BenchmarkAssign(b *testing.B) {
	nodes := fleets.Known(10_000, 20, 0.03, 1).Nodes
	m, err := model.Build(nodes, model.Defaults(), nil)
	if err != nil {
		b.Fatal(err)
	}
	f := func(name string, fit model.Fit, nodes []poise.Node) {
		var some []poise.Node
		for i := range nodes {
			if m.Assign(&nodes[i]).Fit == fit {
				some = append(some, nodes[i])
			}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				m.Assign(&some[i%len(some)])
				i++
			}
		})
	}
	f("known", model.Known, nodes)
	f("near", model.Near, fleets.Known(10_000, 20, 0.2, 1).Nodes)
}
