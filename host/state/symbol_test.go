package state

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// Symbols come in the order of the events, and only what is wanted gets one.
func TestSymbols(t *testing.T) {
	s, err := New(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(body poise.Body) {
		t.Helper()
		if err := s.Apply(poise.Event{Index: s.Index() + 1, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	f := func(want ...string) {
		t.Helper()
		if got := s.View().Symbols(); !slices.Equal(got, append([]string{""}, want...)) {
			t.Errorf("symbols %q, expected %q", got, want)
		}
	}
	labels := func(zone string) []poise.Label {
		return []poise.Label{{Key: "other", Value: "unseen"}, {Key: poise.ClassLabel, Value: "cpu-1"}, {Key: "zone", Value: zone}}
	}
	apply(poise.NodeJoined{Node: poise.Node{Name: "a", Labels: labels("east"), Devices: poise.Devices{Kind: "gpu", Model: "A10", Count: 1}}})
	f("A10", "cpu-1")
	kept := s.Snapshot()
	apply(poise.SymbolsWanted{Labels: []string{"zone"}, Values: []string{"west", "A10"}})
	f("A10", "cpu-1", "west", "east")
	apply(poise.NodeJoined{Node: poise.Node{Name: "b", Labels: labels("north")}})
	apply(poise.JobSubmitted{Job: poise.Job{ID: "j", Name: "j", Tenant: "red", Tasks: 1, Request: poise.Request{
		Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1000, Models: []string{"G2"}},
	}}})
	f("A10", "cpu-1", "west", "east", "north", "red", "gpu", "G2")
	apply(poise.ProfileBuilt{Demand: &poise.Demand{Kinds: []poise.TaskKind{{Kind: "npu", Models: []string{"X"}}}}})
	f("A10", "cpu-1", "west", "east", "north", "red", "gpu", "G2", "npu", "X")
	apply(poise.NodeChanged{Node: poise.Node{Name: "b", Labels: labels("south")}})
	apply(poise.NodeLeft{Name: "b"})
	f("A10", "cpu-1", "west", "east", "north", "red", "gpu", "G2", "npu", "X", "south")
	if got := kept.Symbols(); !slices.Equal(got, []string{"", "A10", "cpu-1"}) {
		t.Errorf("an older snapshot has symbols %q", got)
	}
}
