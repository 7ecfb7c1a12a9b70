package spectral

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestEdges(t *testing.T) {
	f := func(p Points, s Settings, labels ...int) {
		t.Helper()
		got := mustCluster(t, p, s)
		if !slices.Equal(got.Labels, labels) {
			t.Errorf("labels %v, expected %v", got.Labels, labels)
		}
		if k := slices.Max(append(labels, -1)) + 1; got.K != k {
			t.Errorf("k is %d, expected %d", got.K, k)
		}
		if len(got.Eigenvalues) != len(p.At) {
			t.Errorf("%d eigenvalues for %d points", len(got.Eigenvalues), len(p.At))
		}
	}
	half := Settings{Sigma: 0.5}
	points := func(rows ...[]float64) (p Points) {
		for _, row := range rows {
			p.add(0, 1, row...)
		}
		return p
	}

	f(Points{}, half)
	f(points([]float64{3, 4}), half, 0)
	f(points([]float64{3, 4}, []float64{3, 4}), half, 0, 0)
	f(points([]float64{3, 4}, []float64{3, 4.08}), half, 0, 0)  // 6 % apart
	f(points([]float64{3, 4}, []float64{3, 6}), half, 0, 1)     // one component
	f(points([]float64{3, 4}, []float64{3, 40}), half, 0, 1)    // two
	f(points([]float64{3, 4}, []float64{3, 1e300}), half, 0, 1) // the square overflows
	f(points([]float64{0, 0}, []float64{3, 6}), half, 0, 1)     // a node without anything
	f(points(nil, nil), half, 0, 0)                             // no coordinates
	f(Points{At: [][]float64{{3}, {3}}, Weight: []float64{1, 9}, Group: []int{7, -2}}, half, 0, 1)
	f(Points{At: [][]float64{{3}, {3}}, Weight: []float64{1e-15, 1e15}, Group: []int{0, 0}}, half, 0, 0)
	// A point sees a heavy one far off more than itself.
	f(Points{At: [][]float64{{3}, {5}}, Weight: []float64{1e-15, 1e15}, Group: []int{0, 0}}, half, 0, 0)

	// Equal points are never told apart, however many classes are asked for.
	f(equalPoints(50), half, make([]int, 50)...)
	f(equalPoints(50), Settings{Sigma: 0.5, Classes: 2}, make([]int, 50)...)
	outlier := equalPoints(50)
	outlier.add(0, 1, 50, 70)
	f(outlier, half, append(make([]int, 50), 1)...)
	shapes := points([]float64{1}, []float64{3}, []float64{1}, []float64{3}, []float64{1}, []float64{3}, []float64{1}, []float64{3}, []float64{1}, []float64{3})
	f(shapes, Settings{Sigma: 0.5, Classes: 10}, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	f(shapes, Settings{Sigma: 0.5, Classes: 1}, make([]int, 10)...)

	// A component is never joined to another, however few classes are asked for.
	f(points([]float64{1}, []float64{9}, []float64{1.1}, []float64{20}), Settings{Sigma: 0.5, Classes: 1}, 0, 1, 0, 2)

	// Sigma is the resolution.
	steps := points([]float64{1}, []float64{1.1}, []float64{2}, []float64{2.1})
	f(steps, Settings{Sigma: 0.2}, 0, 0, 1, 1)
	f(steps, Settings{Sigma: 2}, 0, 0, 0, 0)
	f(steps, Settings{Sigma: 2, Classes: 2}, 0, 0, 1, 1)
}

func TestManyGroups(t *testing.T) {
	f := func(groups, shapes, each int) {
		t.Helper()
		var p Points
		for i := range groups * shapes * each {
			p.add(i%groups, 1, 5+2*float64(i/groups%shapes), 0.01*float64(i/groups/shapes))
		}
		got := mustCluster(t, p, Settings{Sigma: 0.5})
		if got.K != groups*shapes || len(got.Components) != groups {
			t.Errorf("%d groups of %d shapes: %d classes, %d components", groups, shapes, got.K, len(got.Components))
		}
	}
	f(2, 1, 1)
	f(1, 60, 2)
	f(40, 1, 1)
	f(40, 1, 3)
	f(40, 3, 2)
	f(200, 1, 1)
	f(200, 1, 2)
	f(200, 2, 1)
	f(200, 2, 2)
}

func TestEigengap(t *testing.T) {
	f := func(k, components int, spectrum ...float64) {
		t.Helper()
		if got := Eigengap(spectrum, components); got != k {
			t.Errorf("k is %d, expected %d", got, k)
		}
	}
	f(0, 0)
	f(1, 1, 0)
	f(2, 2, 0, 0)
	f(2, 1, 0, 0.1, 0.7, 0.8)
	f(3, 3, 0, 0, 0, 0.4, 0.4, 0.5, 0.8)
	f(4, 3, 0, 0, 0, 0.3, 0.9)
	f(4, 1, 0, 0.1, 0.2, 0.3)       // the gap to the 1 after the last
	f(1, 1, 0, 0.5)                 // equal gaps
	f(1, 1, 0, 0.3, 0.6+1e-12, 0.8) // equal but for rounding

	bound := make([]float64, 70)
	bound[69] = 1
	f(1, 1, bound...)
	f(69, 2, bound...)
}

func TestDivide(t *testing.T) {
	f := func(asked int, classes []int, values ...[]float64) {
		t.Helper()
		var components []Component
		for _, v := range values {
			components = append(components, Component{Values: v, Classes: 1})
		}
		divide(components, asked)
		for i, c := range components {
			if c.Classes != classes[i] {
				t.Errorf("component %d gets %d classes, expected %d", i, c.Classes, classes[i])
			}
		}
	}
	f(3, []int{1, 2}, []float64{0, 0.3}, []float64{0, 0.2})
	f(3, []int{2, 1}, []float64{0, 0.2 + 1e-13}, []float64{0, 0.2}) // equal but for rounding
	f(1, []int{1, 1}, []float64{0, 0.3}, []float64{0, 0.2})
	f(4, []int{3, 1}, []float64{1e-15, 1e-12, 0.2}, []float64{1e-11, 0.9}) // the first of each is its 0
	f(4, []int{1, 1}, []float64{0, 1}, []float64{0, 1 + 1e-15})
	f(0, []int{2, 1}, []float64{0, 0.1, 0.9}, []float64{0, 0.95})
}

func TestNoStructure(t *testing.T) {
	r := random(1)
	var p Points
	for range 200 {
		p.add(0, 1, 3*r.unit(), 3*r.unit(), 3*r.unit())
	}
	if got := mustCluster(t, p, Settings{Sigma: 0.5}); got.K != 1 {
		t.Errorf("uniform points: %d classes, expected 1", got.K)
	}
	// A continuum has flat gaps: the cut is arbitrary, but there is one.
	var line Points
	for i := range 60 {
		line.add(0, 1, math.Log2(1+float64(4*(i+1))))
	}
	got := mustCluster(t, line, Settings{Sigma: 0.5})
	if got.K < 1 || got.K > 20 {
		t.Errorf("60 sizes in a row: %d classes", got.K)
	}
	t.Logf("60 sizes in a row: %d classes", got.K)
}

func TestErrors(t *testing.T) {
	f := func(change func(*Points, *Settings), word string) {
		t.Helper()
		p := Points{At: [][]float64{{1, 2}, {3, 4}}, Weight: []float64{1, 1}, Group: []int{0, 0}}
		s := Settings{Sigma: 0.5}
		change(&p, &s)
		got, err := Cluster(p, s)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, expected one with %q", err, word)
		}
		if got != nil {
			t.Error("a clustering beside an error")
		}
	}
	f(func(p *Points, _ *Settings) { p.At[1][0] = math.NaN() }, "at[1][0]: NaN")
	f(func(p *Points, _ *Settings) { p.At[0][1] = math.Inf(-1) }, "at[0][1]: -Inf")
	f(func(p *Points, _ *Settings) { p.At[1] = []float64{1} }, "at[1]: 1 coordinates, expected 2")
	f(func(p *Points, _ *Settings) { p.Weight[1] = 0 }, "weight[1]: 0")
	f(func(p *Points, _ *Settings) { p.Weight[0] = -3 }, "weight[0]: -3")
	f(func(p *Points, _ *Settings) { p.Weight[0] = math.NaN() }, "weight[0]: NaN")
	f(func(p *Points, _ *Settings) { p.Weight[0] = math.Inf(1) }, "weight[0]: +Inf")
	f(func(p *Points, _ *Settings) { p.Weight = p.Weight[:1] }, "weight: 1 values")
	f(func(p *Points, _ *Settings) { p.Group = nil }, "group: 0 values")
	f(func(_ *Points, s *Settings) { s.Sigma = 0 }, "sigma: 0")
	f(func(_ *Points, s *Settings) { s.Sigma = -0.5 }, "sigma: -0.5")
	f(func(_ *Points, s *Settings) { s.Sigma = math.NaN() }, "sigma: NaN")
	f(func(_ *Points, s *Settings) { s.Sigma = math.Inf(1) }, "sigma: +Inf")
	f(func(_ *Points, s *Settings) { s.Classes = -1 }, "classes: -1")
	f(func(_ *Points, s *Settings) { s.Classes = 3 }, "classes: 3, expected 0 to the number of points, 2")
}

// Merging equal points and adding up their weights changes neither classes nor
// eigenvalues, except that the merged ones had an eigenvalue of 1 each.
func TestCollapseIsExact(t *testing.T) {
	f := func(name string) {
		t.Helper()
		p, of := readFleet(t, name).collapse(1)
		var all Points
		for _, i := range of {
			all.add(p.Group[i], 1, p.At[i]...)
		}
		few, many := mustCluster(t, p, Settings{Sigma: 0.5}), mustCluster(t, all, Settings{Sigma: 0.5})
		if few.K != many.K || !slices.Equal(spreadOver(few.Labels, of), many.Labels) {
			t.Errorf("%s: %d classes of %d points, %d classes of %d", name, few.K, len(p.At), many.K, len(all.At))
		}
		for i, v := range many.Eigenvalues {
			want := 1.0
			if i < len(few.Eigenvalues) {
				want = few.Eigenvalues[i]
			}
			if math.Abs(v-want) > 1e-9 {
				t.Fatalf("%s: eigenvalue %d is %v for single points and %v for merged ones", name, i, v, want)
			}
		}
	}
	f("synth8")
	f("near12")
}

// The number of processors changes no bit.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var first *Clustering
	for _, n := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(n)
		got := mustCluster(t, world(3, 12, 240, 0.5), Settings{Sigma: 1})
		if first == nil {
			first = got
		}
		if !slices.Equal(got.Labels, first.Labels) || !slices.Equal(got.Eigenvalues, first.Eigenvalues) {
			t.Errorf("%d processors differ from 1", n)
		}
	}
}

// The digest is that of the labels on amd64 with assembly. Eigenvalues differ in
// their last bits from build to build; labels do not.
func TestLabelsOfEveryBuild(t *testing.T) {
	var digest random
	for seed := range 60 {
		p := world(seed, 4+seed%13, 40+seed%29, 0.1+0.01*float64(seed))
		for _, s := range []Settings{{Sigma: 0.25}, {Sigma: 0.5}, {Sigma: 0.5, Classes: 9}} {
			for _, l := range mustCluster(t, p, s).Labels {
				digest += random(l)
				digest.unit()
			}
		}
	}
	if want := random(0x3ac83767cd869245); digest != want {
		t.Errorf("digest of the labels is %#x, expected %#x", digest, want)
	}
}
