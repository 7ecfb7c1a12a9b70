package main

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/abi/guest/go/harness"
)

func TestFilter(t *testing.T) {
	nodes := []harness.Node{{"class": "cpu"}, {"class": "gpu-t4"}, {"class": "gpu-a100"}, {}}
	const other, none = "not of the class that the tenant may use", "node has no class"
	f := func(params map[string]string, want ...string) {
		t.Helper()
		got := harness.Filter(t, plugin, harness.World{Nodes: nodes, Params: params}, narrow)
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", params, got, want)
		}
	}
	f(map[string]string{"class": "cpu"}, "", other, other, none)
	f(map[string]string{"class": "gpu-t4", "also": "gpu-a100"}, other, "", "", none)
	f(map[string]string{"class": "gpu-t4", "also": ""}, other, "", other, none)
	f(map[string]string{"class": "gone"}, other, other, other, none)
	f(map[string]string{"class": ""}, other, other, other, none)
}
