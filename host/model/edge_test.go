package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/test/fleets"
)

const gib = 1 << 30

// node has cores, GiB of memory and so many devices of one model.
func node(name string, cores, memory float64, devices int32, deviceModel string) poise.Node {
	n := poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: int64(cores * 1000)}, {Name: "memory", Value: int64(memory * gib)}}}
	if devices > 0 {
		n.Devices = poise.Devices{Kind: "gpu", Model: deviceModel, Count: devices}
	}
	return n
}

// many gives n nodes that of makes.
func many(n int, of func(i int) poise.Node) []poise.Node {
	nodes := make([]poise.Node, n)
	for i := range nodes {
		nodes[i] = of(i)
		nodes[i].Name = fmt.Sprintf("n%d", i)
	}
	return nodes
}

func TestEdges(t *testing.T) {
	f := func(nodes []poise.Node, k int) *model.Model {
		t.Helper()
		m := rebuild(t, nodes, nil)
		if m.K != k || len(m.Classes) != k {
			t.Errorf("%d classes, expected %d", m.K, k)
		}
		for i := range nodes {
			if a := m.Assign(&nodes[i]); a.Fit != model.Known || m.Class(a.Class) == nil {
				t.Fatalf("node %d: %+v, expected a known class", i, a)
			}
		}
		return m
	}
	same := func(int) poise.Node { return node("", 32, 128, 0, "") }
	f(nil, 0)
	f(many(1, same), 1)
	f(many(2, same), 1)
	f([]poise.Node{node("a", 32, 128, 0, ""), node("b", 32, 120, 0, "")}, 1)
	f([]poise.Node{node("a", 32, 128, 1, "t4"), node("b", 32, 128, 1, "v100")}, 2)
	f([]poise.Node{node("a", 32, 128, 1, ""), node("b", 32, 128, 0, "")}, 2)
	f(many(1000, same), 1)
	f(append(many(1000, same), node("outlier", 1, 1, 0, "")), 2)
	zero := f(append(many(10, same), poise.Node{Name: "zero"}), 2)
	if name := zero.Name(2); name != "empty" {
		t.Errorf("nodes of nothing are class %q, expected empty", name)
	}
	f(many(400, func(i int) poise.Node { return node("", 32, 128, 1, fmt.Sprintf("m%d", i%40)) }), 40)
	f(many(1000, func(i int) poise.Node { return node("", 32, 128, 1, fmt.Sprintf("m%d", i%200)) }), 200)
	f(many(1200, func(i int) poise.Node { return node("", 32, 128, 1, fmt.Sprintf("m%d", i%600)) }), 600)
	f(fleets.Formless(3000, 1), 1)
	f(many(2, func(i int) poise.Node {
		n := poise.Node{Capacity: resource.List{{Name: "bandwidth", Value: math.MaxInt64}, {Name: "cpu", Value: math.MaxInt64}, {Name: "memory", Value: math.MaxInt64}}}
		n.Devices = poise.Devices{Kind: "gpu", Count: poise.MaxDevices}
		return n
	}), 1)
}

// Sizes without a gap between them have no right number of classes, but few.
func TestContinuum(t *testing.T) {
	nodes := many(60, func(i int) poise.Node { return node("", math.Exp2(1+float64(i)/10), 128, 0, "") })
	if m := rebuild(t, nodes, nil); m.K < 1 || m.K > 10 {
		t.Errorf("%d classes, expected 1 to 10", m.K)
	}
}

func TestSettings(t *testing.T) {
	f := func(change func(s *model.Settings), want string) {
		t.Helper()
		s := model.Defaults()
		change(&s)
		_, err := model.Build(nil, s, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	pin := func(pins ...model.Pin) func(*model.Settings) { return func(s *model.Settings) { s.Pinned = pins } }
	any := []poise.Selector{{Key: "zone", Op: poise.Exists}}
	f(func(*model.Settings) {}, "")
	f(func(s *model.Settings) { s.Resolution = math.NaN() }, "resolution: NaN, expected 0.05 to 4 octaves")
	f(func(s *model.Settings) { s.Resolution = 0.01 }, "resolution: 0.01")
	f(func(s *model.Settings) { s.WeightExponent = -1 }, "weight exponent: -1, expected 0 to 1")
	f(func(s *model.Settings) { s.Features = nil }, "features: 0, expected 1 to 16")
	f(func(s *model.Settings) { s.Features = []string{"cpu", "cpu"} }, `features: "cpu" given twice`)
	f(func(s *model.Settings) { s.Features = []string{""} }, "features: empty name")
	f(pin(model.Pin{Name: "a", Selectors: any}), "")
	f(pin(model.Pin{Name: "", Selectors: any}), "pinned: class with an empty name")
	f(pin(model.Pin{Name: "a b", Selectors: any}), `pinned: class "a b", expected a name without space`)
	f(pin(model.Pin{Name: "provisional", Selectors: any}), `pinned: class "provisional"`)
	f(pin(model.Pin{Name: "a"}), `pinned: class "a" without selectors`)
	f(pin(model.Pin{Name: "a", Selectors: any}, model.Pin{Name: "a", Selectors: any}), `pinned: class "a" given twice`)
	f(pin(model.Pin{Name: "a", Selectors: []poise.Selector{{Key: "zone", Op: "Like"}}}), `pinned: class "a": selector: zone: operator "Like"`)
}

// An operator's class takes its nodes out of the clustering, may be empty, and
// keeps its id.
func TestPinned(t *testing.T) {
	nodes := many(20, func(i int) poise.Node {
		n := node("", 32, 128, 0, "")
		if i < 3 {
			n.Labels = []poise.Label{{Key: "zone", Value: "lab"}}
		}
		return n
	})
	s := model.Defaults()
	s.Pinned = []model.Pin{
		{Name: "cpu-general", Selectors: []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"lab"}}}},
		{Name: "spare", Selectors: []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"spare"}}}},
	}
	plain := rebuild(t, nodes, nil)
	m, err := model.Build(nodes, s, plain)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for i := range m.Classes {
		names[m.Classes[i].Name] = m.Classes[i].Nodes
	}
	if len(names) != 3 || names["cpu-general"] != 3 || names["spare"] != 0 || names["cpu-general-32c"] != 17 {
		t.Fatalf("classes %v, expected cpu-general 3, cpu-general-32c 17, spare 0", names)
	}
	if got := m.Assign(&nodes[5]).Class; got != plain.Assign(&nodes[5]).Class {
		t.Fatalf("class %d, expected the id of the class that lost three nodes", got)
	}
	again, err := model.Build(nodes[3:], s, m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Classes {
		if again.Classes[i].ID != m.Classes[i].ID || again.Classes[i].Name != m.Classes[i].Name {
			t.Fatalf("class %+v, expected %+v to go on", again.Classes[i], m.Classes[i])
		}
	}
	if again.Trigger(drift(again, nodes[3:])) != model.NoTrigger {
		t.Fatal("an empty pinned class calls for a build")
	}
}

func TestLabels(t *testing.T) {
	nodes := []poise.Node{node("c", 32, 64, 0, ""), node("g", 64, 512, 8, "A100"), node("v", 8, 32, 2, "")}
	nodes[2].Devices.Kind = "vendor.example/npu"
	m := rebuild(t, nodes, nil)
	far := node("far", 1, 1, 8, "H100")
	nodes = append(nodes, far, poise.Node{Name: "nothing"})
	f := func(at int, want ...string) {
		t.Helper()
		var got []string
		for _, l := range m.Labels(&nodes[at]) {
			got = append(got, strings.TrimPrefix(l.Key, "poise.dev/")+"="+l.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("labels %q, expected %q", got, want)
		}
	}
	f(0, "class=cpu-compute", "memory-ratio=compute")
	f(1, "class=gpu-a100-8x", "gpu-count=8", "gpu-model=A100", "memory-ratio=highmem")
	f(2, "class=npu-2x", "memory-ratio=general", "npu-count=2")
	f(3, "class=provisional", "gpu-count=8", "gpu-model=H100", "memory-ratio=compute")
	f(4, "class=provisional")
}

func TestEnvelope(t *testing.T) {
	nodes := []poise.Node{node("a", 32, 128, 2, "t4"), node("b", 30, 120, 4, "t4")}
	nodes[1].Capacity = append(nodes[1].Capacity, resource.Amount{Name: "storage", Value: 5})
	c := rebuild(t, nodes, nil).Classes[0]
	if got, want := fmt.Sprint(c.Capacity), "[{cpu 30000 32000} {memory 128849018880 137438953472} {storage 0 5}]"; got != want {
		t.Errorf("capacity %s, expected %s", got, want)
	}
	if got, want := fmt.Sprintf("%v %s", c.Devices, c.Name), "[{gpu t4 2 4}] gpu-t4-2-4x"; got != want {
		t.Errorf("devices and name %s, expected %s", got, want)
	}
}

// What the fleet must do for another build to be worth it.
func TestTrigger(t *testing.T) {
	base := append(many(40, func(int) poise.Node { return node("", 32, 128, 0, "") }), node("small", 4, 16, 0, ""))
	m := rebuild(t, base, nil)
	f := func(nodes []poise.Node, want model.Trigger) {
		t.Helper()
		if got := m.Trigger(drift(m, nodes)); got != want {
			t.Errorf("trigger %q, expected %q", got, want)
		}
	}
	with := func(more ...poise.Node) []poise.Node { return append(slices.Clone(base), more...) }
	near := node("near", 36, 128, 0, "")
	f(base, model.NoTrigger)
	f(with(near), model.NoTrigger)
	f(with(near, near, near), model.NewCells)
	f(with(node("far", 128, 128, 0, "")), model.FarNode)
	f(with(node("other", 32, 128, 1, "t4")), model.FarNode)
	f(base[:40], model.EmptyClass)

	var d model.Drift
	for i := range base {
		d.Add(m.Assign(&base[i]))
	}
	before := fmt.Sprint(d)
	far := node("far", 128, 128, 0, "")
	for _, n := range []poise.Node{near, far} {
		d.Add(m.Assign(&n))
		d.Remove(m.Assign(&n))
	}
	if fmt.Sprint(d) != before {
		t.Errorf("drift %v after nodes came and went, expected %v", d, before)
	}
}

// A new kind of node gets a class of its own, with a new id; the others keep
// theirs, and an id that is gone never comes back.
func TestNewKindsAndLostIDs(t *testing.T) {
	kinds := [][3]float64{{32, 128, 0}, {4, 16, 0}, {96, 768, 8}, {8, 128, 0}}
	fleet := func(which ...int) []poise.Node {
		return many(20*len(which), func(i int) poise.Node {
			k := kinds[which[i%len(which)]]
			return node("", k[0], k[1], int32(k[2]), "t4")
		})
	}
	m := rebuild(t, fleet(0, 1), nil)
	f := func(next model.ClassID, which ...int) {
		t.Helper()
		nodes, was := fleet(which...), m
		m = rebuild(t, nodes, m)
		if m.Build != was.Build+1 || m.NextClass != next || m.K != len(which) {
			t.Fatalf("build %d, next class %d, %d classes, expected %d, %d, %d", m.Build, m.NextClass, m.K, was.Build+1, next, len(which))
		}
		for i := range nodes {
			if old, now := was.Assign(&nodes[i]).Class, m.Assign(&nodes[i]).Class; old != 0 && old != now {
				t.Fatalf("class %d became %d", old, now)
			}
		}
	}
	f(4, 0, 1, 2)
	f(4, 0, 2)
	f(5, 0, 1, 2)
	f(6, 0, 1, 2, 3)
}

func TestRestore(t *testing.T) {
	nodes := fleets.Hard(200, 8, 0.7, 0.04, 1).Nodes
	m := rebuild(t, nodes, nil)
	f := func(change func(r *model.Record), want string) {
		t.Helper()
		r := m.Record
		r.Cells, r.Points, r.Classes = slices.Clone(r.Cells), slices.Clone(r.Points), slices.Clone(r.Classes)
		change(&r)
		back, err := model.Restore(r)
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
		case err != nil:
			t.Error(err)
		case !slices.Equal(classes(back, nodes), classes(m, nodes)):
			t.Error("a restored model puts nodes elsewhere")
		}
	}
	f(func(*model.Record) {}, "")
	f(func(r *model.Record) {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		*r = model.Record{}
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*r, m.Record) {
			t.Error("a record that was written down and read is another")
		}
	}, "")
	f(func(r *model.Record) { r.Step = 0 }, "step: 0, expected more than 0")
	f(func(r *model.Record) { r.Cells[1].Group = 9 }, "cells[1]: group 9, expected one of")
	f(func(r *model.Record) { r.Cells[1].At = nil }, "cells[1]: 0 coordinates, expected 5")
	f(func(r *model.Record) { r.Cells[1].Point = -1 }, "cells[1]: point -1")
	f(func(r *model.Record) { r.Points[1].Group = -1 }, "points[1]: group -1")
	f(func(r *model.Record) { r.Points[1].At = nil }, "points[1]: 0 coordinates")
	f(func(r *model.Record) { r.Points[1].Class = 99 }, "points[1]: class 99")
	f(func(r *model.Record) { r.Classes[1].ID = 1 }, "classes[1]: id 1, expected ids from 1, ascending")
	f(func(r *model.Record) { r.Settings.Resolution = 0 }, "resolution: 0")
	f(func(r *model.Record) {
		r.Settings.Pinned = []model.Pin{{Name: "p", Selectors: []poise.Selector{{Key: "k", Op: poise.Exists}}}}
	}, `pinned: class "p", expected it among the classes`)
}

func classes(m *model.Model, nodes []poise.Node) []model.ClassID {
	of := make([]model.ClassID, len(nodes))
	for i := range nodes {
		of[i] = m.Assign(&nodes[i]).Class
	}
	return of
}

// The order of nodes changes nothing, at any number of cells.
func TestOrderOfNodesDoesNotMatter(t *testing.T) {
	f := func(nodes []poise.Node) {
		t.Helper()
		want := fmt.Sprintf("%+v", rebuild(t, nodes, nil).Record)
		r := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			shuffled := slices.Clone(nodes)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if got := fmt.Sprintf("%+v", rebuild(t, shuffled, nil).Record); got != want {
				t.Fatal("another order of nodes gives another model")
			}
		}
	}
	f(fleets.Hard(500, 20, 0.5, 0.06, 1).Nodes)
	f(fleets.Known(2000, 20, 0.3, 1).Nodes)
	f(fleets.Formless(1000, 1))
}
