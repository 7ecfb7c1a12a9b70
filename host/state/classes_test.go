package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

type record uint64

func (r record) ModelBuild() uint64 { return uint64(r) }

// A model changes the labels of the nodes that it names and no other row, an
// older snapshot keeps its own, and an event that names a node that is not there
// changes nothing.
func TestModelBuilt(t *testing.T) {
	s, err := New(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	index := uint64(0)
	apply := func(body poise.Body) error {
		err := s.Apply(poise.Event{Index: index + 1, Body: body})
		if err == nil {
			index++
		}
		return err
	}
	zone := []poise.Label{{Key: "zone", Value: "a"}}
	for _, name := range []string{"a", "b"} {
		n := poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: 1}}, Labels: zone}
		if err := apply(poise.NodeJoined{Node: n}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Snapshot()
	a, _ := s.Row("a")
	b, _ := s.Row("b")
	labels := []poise.Label{{Key: "class", Value: "cpu"}, {Key: "zone", Value: "a"}}
	if err := apply(poise.ModelBuilt{Model: record(1), Labels: []poise.NodeLabels{{Node: "b", Labels: labels}}}); err != nil {
		t.Fatal(err)
	}
	now := s.View()
	if !slices.Equal(now.Labels(b), labels) || !slices.Equal(now.Labels(a), zone) || !slices.Equal(before.Labels(b), zone) {
		t.Errorf("labels %v, %v, before %v", now.Labels(a), now.Labels(b), before.Labels(b))
	}
	if now.RowVersion(a) != before.RowVersion(a) || now.RowVersion(b) == before.RowVersion(b) || now.Described(b) != now.RowVersion(b) {
		t.Errorf("row versions %d, %d, before %d, %d", now.RowVersion(a), now.RowVersion(b), before.RowVersion(a), before.RowVersion(b))
	}
	if now.Classes() != record(1) || before.Classes() != nil {
		t.Errorf("model %v, before %v", now.Classes(), before.Classes())
	}
	for want, event := range map[string]poise.ModelBuilt{
		"model: none":                      {},
		`labels of node "c": no such node`: {Model: record(2), Labels: []poise.NodeLabels{{Node: "a"}, {Node: "c"}}},
		"expected sorted and distinct":     {Model: record(2), Labels: []poise.NodeLabels{{Node: "a"}, {Node: "b", Labels: []poise.Label{labels[1], labels[0]}}}},
	} {
		version := now.Version()
		if err := apply(event); err == nil || !strings.Contains(err.Error(), want) || s.View().Version() != version || s.View().Classes() != record(1) {
			t.Errorf("error %v, expected %q and nothing changed", err, want)
		}
	}
}
