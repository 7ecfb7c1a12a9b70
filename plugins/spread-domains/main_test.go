package main

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/abi/guest/go/harness"
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
