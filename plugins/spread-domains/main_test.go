package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/abi/guest/go/harness"
	"pgregory.net/rapid"
)

// Zone a has 3 tasks of the tenant and 1 of the job, b has 1 and 1, c has 0 and
// 2; one node has no zone.
var nodes = []harness.Node{
	{"zone": "a", "tenant_tasks": 3, "job_tasks": 1},
	{"zone": "a"},
	{"zone": "b", "tenant_tasks": 1, "job_tasks": 1},
	{"zone": "c", "job_tasks": 2},
	{"tenant_tasks": 5},
}

func TestFilter(t *testing.T) {
	const over, none = "more tasks in this zone than the skew allows", "node has no zone"
	f := func(params map[string]string, want ...string) {
		t.Helper()
		got := harness.Filter(t, plugin, harness.World{Nodes: nodes, Params: params}, narrow)
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", params, got, want)
		}
	}
	f(nil, "", "", "", "", "")
	f(map[string]string{"mode": "hard"}, over, over, over, "", none)
	f(map[string]string{"mode": "hard", "max_skew": "2"}, over, over, "", "", none)
	f(map[string]string{"mode": "hard", "max_skew": "4"}, "", "", "", "", none)
	f(map[string]string{"mode": "hard", "by": "job"}, "", "", "", over, none)
}

func TestScore(t *testing.T) {
	f := func(params map[string]string, want ...float64) {
		t.Helper()
		got, _ := harness.Score(t, plugin, harness.World{Nodes: nodes, Params: params}, rank)
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", params, got, want)
		}
	}
	f(nil, 3.75/4.75, 0.75, 0.6, 0, 1)
	f(map[string]string{"max_skew": "3"}, 3.75/6.75, 0.5, 1.5/4.5, 0, 1)
	f(map[string]string{"by": "job"}, 0.5/1.5, 0, 0.5/1.5, (1+2.0/3)/(2+2.0/3), 1)
}

// Without a single zone nothing is refused for its skew, and all nodes are alike.
func TestNoZones(t *testing.T) {
	w := harness.World{Nodes: []harness.Node{{}, {"tenant_tasks": 1}}}
	if got, _ := harness.Score(t, plugin, w, rank); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("got %v, want 1 and 1", got)
	}
}

// The definition, node by node and without anything kept, on fleets with more
// zones than the counter has places.
func TestDefinition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := harness.World{Params: map[string]string{"mode": "hard", "by": rapid.SampledFrom([]string{byTenant, byJob}).Draw(r, "by")}}
		skew := rapid.IntRange(1, 4).Draw(r, "skew")
		w.Params["max_skew"] = fmt.Sprint(skew)
		tasks := map[string]int{}
		zones := rapid.SampledFrom([]int{1, 3, 3 * places}).Draw(r, "zones")
		for range rapid.IntRange(1, 60).Draw(r, "nodes") {
			n := harness.Node{"tenant_tasks": rapid.IntRange(0, 3).Draw(r, "tenant"), "job_tasks": rapid.IntRange(0, 3).Draw(r, "job")}
			if z := rapid.IntRange(0, zones).Draw(r, "zone"); z > 0 {
				n["zone"] = fmt.Sprint(z)
				tasks[fmt.Sprint(z)] += n[w.Params["by"]+"_tasks"].(int)
			}
			w.Nodes = append(w.Nodes, n)
		}
		least := 1 << 30
		for _, n := range tasks {
			least = min(least, n)
		}
		reasons := harness.Filter(t, plugin, w, narrow)
		got, _ := harness.Score(t, plugin, w, rank)
		for i, n := range w.Nodes {
			wantReason, want := "node has no zone", 1.0
			if z, ok := n["zone"].(string); ok {
				wantReason = ""
				if tasks[z]-least+1 > skew {
					wantReason = "more tasks in this zone than the skew allows"
				}
				here := float64(n[w.Params["by"]+"_tasks"].(int))
				y := float64(tasks[z]-least) + here/(here+1)
				want = y / (y + float64(skew))
			}
			if reasons[i] != wantReason || got[i] != want {
				r.Fatalf("node %d %v: got %q and %v, want %q and %v", i, n, reasons[i], got[i], wantReason, want)
			}
		}
	})
}
