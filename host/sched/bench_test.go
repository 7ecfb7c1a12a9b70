package sched

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// A fleet of equal nodes: every one ties for the first jobs. One job comes, is
// placed and finishes.
func BenchmarkPlan(b *testing.B) {
	f := func(ties Ties, nodes int) {
		b.Run(fmt.Sprint(ties, "-", nodes), func(b *testing.B) {
			w := newWorld(b)
			for i := range nodes {
				w.join(node(fmt.Sprint("n", i), 64, 256))
			}
			p := NewPipeline(Policy{Name: "test", Scorer: leastIdle{}, Ties: ties, Seed: 1})
			keep := w.submit(job(1, 4)) // its shape stays known
			mustPlan(b, p, w.state.View(), keep)
			b.ReportAllocs()
			for b.Loop() {
				j := w.submit(job(1, 4))
				d, err := p.Plan(w.state.View(), j, Pass{Detail: Brief})
				if err != nil {
					b.Fatal(err)
				}
				w.commit(&d)
				w.apply(poise.JobFinished{Job: j.ID})
			}
		})
	}
	f(ByName, 1000)
	f(ByName, 10_000)
	f(Seeded, 1000)
	f(Seeded, 10_000)
}
