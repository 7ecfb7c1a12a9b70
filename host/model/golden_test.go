package model

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/test/fleets"
)

var shared = filepath.Join("..", "..", "..", "shared", "golden", "clustering")

// golden reads a fleet with the true shape of each node.
func golden(t *testing.T, name string) ([]poise.Node, []int) {
	t.Helper()
	file, err := os.Open(filepath.Join(shared, name+".csv"))
	if err != nil {
		t.Skipf("no golden data: %v", err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var nodes []poise.Node
	var truth []int
	for _, row := range rows[1:] {
		n := poise.Node{Name: row[0]}
		for _, c := range []struct {
			name string
			at   int
			unit float64
		}{{"bandwidth", 6, 1e12}, {"cpu", 1, 1000}, {"memory", 2, gib}, {"storage", 5, gib}} {
			if v := int64(math.Round(number(t, row[c.at]) * c.unit)); v > 0 {
				n.Capacity = append(n.Capacity, resource.Amount{Name: c.name, Value: v})
			}
		}
		if count := number(t, row[3]); count > 0 {
			n.Devices = poise.Devices{Kind: "gpu", Model: row[4], Count: int32(count)}
		}
		nodes = append(nodes, n)
		truth = append(truth, int(number(t, row[7])))
	}
	return nodes, truth
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func build(t testing.TB, nodes []poise.Node, s Settings, previous *Model) *Model {
	t.Helper()
	m, err := Build(nodes, s, previous)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// assigned gives the class of every node.
func assigned(m *Model, nodes []poise.Node) []int {
	classes := make([]int, len(nodes))
	for i := range nodes {
		classes[i] = int(m.Assign(&nodes[i]).Class)
	}
	return classes
}

// agreement is the adjusted Rand index of two partitions: 1 where they are the
// same.
func agreement(a, b []int) float64 {
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	both, of, in := map[[2]int]int{}, map[int]int{}, map[int]int{}
	for i := range a {
		both[[2]int{a[i], b[i]}]++
		of[a[i]]++
		in[b[i]]++
	}
	var x, p, q float64
	for _, n := range both {
		x += pairs(n)
	}
	for _, n := range of {
		p += pairs(n)
	}
	for _, n := range in {
		q += pairs(n)
	}
	chance := p * q / pairs(len(a))
	if (p+q)/2 == chance {
		return 1
	}
	return (x - chance) / ((p+q)/2 - chance)
}

func TestGolden(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(shared, "expected.json"))
	if err != nil {
		t.Skipf("no golden data: %v", err)
	}
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	f := func(name string, exponent float64, key string, recovered bool) {
		t.Helper()
		var want struct {
			K           int
			Eigenvalues []float64
			Partition   []int
		}
		if err := json.Unmarshal(all[name][key], &want); err != nil {
			t.Fatal(err)
		}
		nodes, truth := golden(t, name)
		s := Defaults()
		s.WeightExponent = exponent
		m := build(t, nodes, s, nil)
		found := assigned(m, nodes)
		if ari := agreement(found, want.Partition); m.K != want.K || ari != 1 {
			t.Errorf("%s: %d classes, agreement %v with the reference, expected %d and 1", name, m.K, ari, want.K)
		}
		if ari := agreement(found, truth); recovered && ari != 1 {
			t.Errorf("%s: agreement %v with the shapes, expected 1", name, ari)
		}
		for i, v := range want.Eigenvalues {
			if math.Abs(m.Eigenvalues[i]-v) > 1e-6 {
				t.Errorf("%s: eigenvalue %d is %v, expected %v", name, i, m.Eigenvalues[i], v)
			}
		}
	}
	f("openb", 1, "alpha_1.0", false)
	f("openb", 0.5, "alpha_0.5", false)
	f("synth8", 1, "alpha_1.0", true)
	f("synth8", 0.5, "alpha_0.5", true)
	f("synth20", 1, "alpha_1.0", true)
	f("synth20", 0.5, "alpha_0.5", true)
	f("near12", 1, "alpha_1.0", false)
	f("near12", 0.5, "alpha_0.5", true)
}

func TestClassesOfOpenb(t *testing.T) {
	nodes, _ := golden(t, "openb")
	m := build(t, nodes, Defaults(), nil)
	var found []string
	for i := range m.Classes {
		found = append(found, fmt.Sprintf("%s %d", m.Classes[i].Name, m.Classes[i].Nodes))
	}
	want := []string{
		"gpu-g2-8x 549", "gpu-t4-2-4x 404", "cpu-highmem 137", "cpu-general 136", "gpu-p100-2x 107", "gpu-g3-8x 39", "cpu-general-32c 37",
		"gpu-v100m16-4x 28", "gpu-p100-2x-64c 22", "gpu-v100m32-8x 21", "gpu-v100m16-1x 19", "gpu-v100m32-4x 9", "gpu-v100m16-8x 8",
		"gpu-p100-1-2x 5", "gpu-a10-1x 2",
	}
	if !slices.Equal(found, want) {
		t.Fatalf("classes %q, expected %q", found, want)
	}
}

// The shapes of fleets that are known, also where landmarks stand for the
// cells, within the memory that a build may take.
func TestKnownFleets(t *testing.T) {
	f := func(n, shapes int, noise float64, seeds, mib uint64) {
		t.Helper()
		for seed := range seeds {
			fleet := fleets.Known(n, shapes, noise, seed)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := build(t, fleet.Nodes, Defaults(), nil)
			runtime.ReadMemStats(&after)
			if ari := agreement(assigned(m, fleet.Nodes), fleet.Truth); m.K != shapes || ari != 1 {
				t.Errorf("seed %d: %d classes, agreement %v, expected %d and 1", seed, m.K, ari, shapes)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > mib {
				t.Errorf("seed %d: %d MiB, expected at most %d", seed, used, mib)
			}
		}
	}
	f(100, 5, 0.1, 3, 2)
	f(1000, 20, 0.03, 3, 2)
	f(10_000, 20, 0.03, 3, 5)
	f(100_000, 20, 0.03, 1, 50)
	f(100_000, 40, 0.3, 1, 50)
}
