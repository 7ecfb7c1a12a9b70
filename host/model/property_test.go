package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"pgregory.net/rapid"
)

// drawNodes draws a fleet of few or many kinds, some of them odd.
func drawNodes(t *rapid.T, label string) []poise.Node {
	amount := rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, 4000, 32_000, 64_000, 4 * gib, 128 * gib, 512 * gib, 1 << 62}),
		rapid.Int64Range(0, 1<<40),
	)
	count := rapid.IntRange(0, 40).Draw(t, label)
	nodes := make([]poise.Node, count)
	for i := range nodes {
		n := &nodes[i]
		n.Name = fmt.Sprintf("%s%d", label, i)
		for _, dim := range []string{"bandwidth", "cpu", "memory", "pods", "storage"} {
			if rapid.IntRange(0, 3).Draw(t, "declared") > 0 {
				n.Capacity = append(n.Capacity, resource.Amount{Name: dim, Value: amount.Draw(t, dim)})
			}
		}
		if devices := rapid.SampledFrom([]int32{0, 0, 1, 4, 8}).Draw(t, "devices"); devices > 0 {
			n.Devices = poise.Devices{
				Kind: rapid.SampledFrom([]string{"gpu", "npu"}).Draw(t, "kind"), Model: rapid.SampledFrom([]string{"", "t4", "a100"}).Draw(t, "model"), Count: devices,
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "lab") == 0 {
			n.Labels = []poise.Label{{Key: "zone", Value: "lab"}}
		}
		if err := n.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

func drawSettings(t *rapid.T) model.Settings {
	s := model.Defaults()
	s.Resolution = rapid.SampledFrom([]float64{0.05, 0.35, 0.5, 1}).Draw(t, "resolution")
	s.WeightExponent = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "exponent")
	if rapid.Bool().Draw(t, "pinned") {
		s.Pinned = []model.Pin{{Name: "lab", Selectors: []poise.Selector{{Key: "zone", Op: poise.Exists}}}}
	}
	return s
}

// What holds of any model of any fleet, whatever came before.
func TestAnyModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m *model.Model
		ids := map[model.ClassID]bool{} // that were ever in use
		for step := range 3 {
			nodes, s, was := drawNodes(t, fmt.Sprintf("n%d-", step)), drawSettings(t), m
			var err error
			if m, err = model.Build(nodes, s, was); err != nil {
				t.Fatal(err)
			}
			checkModel(t, m, nodes)
			for i := range m.Classes {
				c := &m.Classes[i]
				old := was != nil && was.Class(c.ID) != nil
				if !old && ids[c.ID] {
					t.Fatalf("the id %d of a class that is gone is in use again", c.ID)
				}
				if old && !slices.ContainsFunc(s.Pinned, func(p model.Pin) bool { return p.Name == was.Name(c.ID) }) && was.Name(c.ID) != c.Name {
					t.Fatalf("class %d is called %q, was %q", c.ID, c.Name, was.Name(c.ID))
				}
				ids[c.ID] = true
			}
		}
	})
}

func checkModel(t *rapid.T, m *model.Model, nodes []poise.Node) {
	count, names := map[model.ClassID]int{}, map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		a := m.Assign(n)
		c := m.Class(a.Class)
		if a.Fit != model.Known || a.Distance != 0 || c == nil {
			t.Fatalf("%s: %+v, expected a known class", n.Name, a)
		}
		count[a.Class]++
		for _, r := range c.Capacity {
			if v, _ := n.Capacity.Find(r.Name); v < r.Lo || v > r.Hi {
				t.Fatalf("%s: %s %d outside of its class's %d to %d", n.Name, r.Name, v, r.Lo, r.Hi)
			}
		}
		d := &n.Devices
		has := slices.ContainsFunc(c.Devices, func(r model.DeviceRange) bool {
			return r.Kind == d.Kind && r.Model == d.Model && r.Lo <= d.Count && d.Count <= r.Hi
		})
		if has != (d.Count > 0) || !c.Pinned && (len(c.Devices) > 1 || len(c.Devices) == 1 != has) {
			t.Fatalf("%s: devices %+v in a class of %+v", n.Name, *d, c.Devices)
		}
		for _, l := range m.Labels(n) {
			if l.Key == model.ClassLabel && l.Value != c.Name {
				t.Fatalf("%s: label %q, expected %q", n.Name, l.Value, c.Name)
			}
		}
	}
	found := 0
	for i := range m.Classes {
		c := &m.Classes[i]
		if c.Nodes != count[c.ID] || c.Nodes == 0 && !c.Pinned || c.ID >= m.NextClass || names[c.Name] {
			t.Fatalf("class %+v with %d nodes, next id %d, expected nodes, an id below and a name of its own", c, count[c.ID], m.NextClass)
		}
		names[c.Name] = true
		if !c.Pinned {
			found++
		}
	}
	if found != m.K || m.Trigger(drift(m, nodes)) != model.NoTrigger {
		t.Fatalf("%d classes for k %d, trigger %q, expected as many and none", found, m.K, m.Trigger(drift(m, nodes)))
	}
}

// Nodes that join, of a known kind or not, change nobody's class until the next
// build; of a known cell they do not call for one.
func TestJoinChangesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t, "a")
		m, err := model.Build(nodes, drawSettings(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		before, d := classes(m, nodes), drift(m, nodes)
		for i := range nodes {
			twin := nodes[i]
			twin.Name += "-twin"
			d.Add(m.Assign(&twin))
		}
		if trigger := m.Trigger(d); trigger != model.NoTrigger {
			t.Fatalf("trigger %q, expected none", trigger)
		}
		for _, n := range drawNodes(t, "b") {
			m.Assign(&n)
		}
		if !slices.Equal(classes(m, nodes), before) {
			t.Fatal("a node that joined changed another's class")
		}
	})
}
