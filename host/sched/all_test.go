package sched

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// B39: what is explained is what was decided. With every node in the answer,
// each is ranked or refused, the first ranked one is the chosen one, the order
// is that of (tier, loss), and the short list is its beginning.
func TestAllExplainsTheDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			w.join(drawNode(t, fmt.Sprint("n", i)))
		}
		policy := idleBalance(t)
		policy.Ties = rapid.SampledFrom([]Ties{ByName, Seeded}).Draw(t, "ties")
		policy.Seed = rapid.Uint64().Draw(t, "seed")
		p := NewPipeline(policy)
		for range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := w.submit(drawJob(t))
			snap := w.state.View()
			brief, err := p.Plan(snap, j, Pass{Detail: Brief})
			if err != nil {
				t.Fatal(err)
			}
			full := mustPlan(t, p, snap, j)
			all, err := p.Plan(snap, j, Pass{Detail: All})
			if err != nil {
				t.Fatal(err)
			}
			if all.Node != brief.Node || full.Node != brief.Node || !slices.Equal(all.Devices, brief.Devices) {
				t.Fatalf("chosen: %s %v, %s, and briefly %s %v", all.Node, all.Devices, full.Node, brief.Node, brief.Devices)
			}
			if len(all.Ranked) != all.Fitting || len(all.Ranked)+len(all.Refusals) != all.Nodes {
				t.Fatalf("%d ranked and %d refused of %d fitting and %d nodes", len(all.Ranked), len(all.Refusals), all.Fitting, all.Nodes)
			}
			if all.Verdict == poise.Placed {
				if first := &all.Ranked[0]; first.Node != all.Node || !slices.Equal(first.Devices, all.Devices) {
					t.Fatalf("chosen %s %v, ranked first %s %v", all.Node, all.Devices, first.Node, first.Devices)
				}
				w.commit(&all)
			}
			for i := range all.Ranked[:max(len(all.Ranked)-1, 0)] {
				if a, b := &all.Ranked[i], &all.Ranked[i+1]; a.Tier > b.Tier || a.Tier == b.Tier && a.Loss > b.Loss {
					t.Fatalf("%+v before %+v", a, b)
				}
			}
			for i := range full.Ranked {
				if policy.Ties == ByName && full.Ranked[i].Node != all.Ranked[i].Node {
					t.Fatalf("number %d of the short list is %s, of all %s", i, full.Ranked[i].Node, all.Ranked[i].Node)
				}
			}
			counted := map[poise.ReasonCode]int{}
			for _, m := range all.Refusals {
				counted[m.Code]++
			}
			for _, c := range all.Refused {
				counted[c.Code] -= c.Nodes
			}
			for code, n := range counted {
				if n != 0 {
					t.Fatalf("%s: %d nodes more by name than by count", code, n)
				}
			}
		}
	})
}
