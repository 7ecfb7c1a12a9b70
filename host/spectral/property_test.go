package spectral

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestOrderOfPointsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPoints(t)
		s := drawSettings(t, p)
		positions := make([]int, len(p.At))
		for i := range positions {
			positions[i] = i
		}
		positions = rapid.Permutation(positions).Draw(t, "order")
		got, moved := mustCluster(t, p, s), mustCluster(t, p.pick(positions), s)
		back := make([]int, len(positions))
		for i, at := range positions {
			back[at] = moved.Labels[i]
		}
		renumber(back)
		if !slices.Equal(got.Labels, back) {
			t.Fatalf("labels %v in one order, %v in another", got.Labels, back)
		}
		if !slices.Equal(got.Eigenvalues, moved.Eigenvalues) {
			t.Fatal("eigenvalues differ")
		}
	})
}

func TestClassesAndComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPoints(t)
		s := drawSettings(t, p)
		got := mustCluster(t, p, s)

		component := make([]int, len(p.At))
		covered, classes := 0, 0
		for i, c := range got.Components {
			if !slices.IsSorted(c.Points) || i > 0 && got.Components[i-1].Points[0] >= c.Points[0] {
				t.Fatalf("component %d is out of order", i)
			}
			of := map[int]bool{}
			for _, at := range c.Points {
				component[at] = i
				of[got.Labels[at]] = true
			}
			if len(of) != c.Classes || c.Classes < 1 {
				t.Fatalf("component %d says %d classes, its points have %d", i, c.Classes, len(of))
			}
			covered, classes = covered+len(c.Points), classes+c.Classes
		}
		if covered != len(p.At) || classes != got.K {
			t.Fatalf("components have %d points and %d classes, expected %d and %d", covered, classes, len(p.At), got.K)
		}
		if s.Classes > 0 && got.K > max(s.Classes, len(got.Components)) {
			t.Fatalf("%d classes, %d asked for", got.K, s.Classes)
		}
		next := 0
		for i, l := range got.Labels {
			if l > next || l < 0 {
				t.Fatalf("label %d of point %d is not numbered by first appearance", l, i)
			}
			next = max(next, l+1)
			for j := range i {
				if got.Labels[j] == l && (p.Group[i] != p.Group[j] || component[i] != component[j]) {
					t.Fatalf("class %d has points %d and %d of two groups or components", l, j, i)
				}
			}
		}
	})
}

// Every published matrix is what its definition says, row for row.
func TestMatrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPoints(t)
		s := drawSettings(t, p)
		got := mustCluster(t, p, s)
		var merged []float64
		for _, c := range got.Components {
			m := len(c.Points)
			merged = append(merged, c.Values...)
			for i, a := range c.Points {
				degree := 0.0
				for j, b := range c.Points {
					w := p.Weight[a] * p.Weight[b] * math.Exp(-squared(p.At[a], p.At[b])/(2*s.Sigma*s.Sigma))
					near(t, "affinity", c.Affinity.At(i, j), w, 1e-12*w)
					degree += w
					l := -w / math.Sqrt(c.Degree[i]*c.Degree[j])
					if i == j {
						l++
					}
					near(t, "laplacian", c.Laplacian.At(i, j), l, 1e-12)
				}
				near(t, "degree", c.Degree[i], degree, 1e-12*degree)
			}
			checkEigen(t, c.Laplacian, c.Values, c.Vectors)
			near(t, "first eigenvalue", c.Values[0], 0, 1e-12)
			if m > 1 && c.Values[1] < 1e-9 {
				t.Fatalf("the second eigenvalue of a connected component is %v", c.Values[1])
			}
		}
		slices.Sort(merged)
		if !slices.Equal(merged, got.Eigenvalues) {
			t.Fatalf("merged spectrum %v, expected %v", got.Eigenvalues, merged)
		}
	})
}

// Of two equally large entries the first in the order of Points is positive, also
// where the points were worked on in another order.
func TestSignAfterReordering(t *testing.T) {
	var p Points
	p.add(0, 1, 1)
	p.add(0, 1, 0)
	c := mustCluster(t, p, Settings{Sigma: 0.5}).Components[0]
	if c.Vectors.At(0, 1) <= 0 || c.Vectors.At(1, 1) >= 0 {
		t.Errorf("vectors\n%v", mat.Formatted(c.Vectors))
	}
}

func near(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want, within float64,
) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Fatalf("%s is %v, expected %v within %v", what, got, want, within)
	}
}

// checkEigen checks L v = lambda v, length 1, right angles, order, range and sign.
func checkEigen(t *rapid.T, l *mat.SymDense, values []float64, vectors *mat.Dense) {
	m := l.SymmetricDim()
	var left, square mat.Dense
	left.Mul(l, vectors)
	square.Mul(vectors.T(), vectors)
	for j := range m {
		if values[j] < 0 || values[j] > 2 || j > 0 && values[j] < values[j-1] {
			t.Fatalf("eigenvalues %v", values)
		}
		largest := 0.0
		for i := range m {
			near(t, "L v", left.At(i, j), values[j]*vectors.At(i, j), 1e-12)
			one := 0.0
			if i == j {
				one = 1
			}
			near(t, "V'V", square.At(i, j), one, 1e-12)
			if v := vectors.At(i, j); math.Abs(v) > math.Abs(largest)*(1+2*signTolerance) {
				largest = v
			}
		}
		if largest <= 0 {
			t.Fatalf("vector %d is not turned to its largest entry", j)
		}
	}
}

// k-means++ with weights is a local optimum: every row is with its nearest mean.
func TestKMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 30).Draw(t, "m")
		k := rapid.IntRange(1, m).Draw(t, "k")
		rows := mat.NewDense(m, 2, nil)
		weight := make([]float64, m)
		different := map[[2]float64]bool{}
		for i := range m {
			angle := float64(rapid.IntRange(0, 20).Draw(t, "angle"))
			rows.Set(i, 0, math.Cos(angle))
			rows.Set(i, 1, math.Sin(angle))
			different[[2]float64{math.Cos(angle), math.Sin(angle)}] = true
			weight[i] = float64(rapid.IntRange(1, 9).Draw(t, "weight"))
		}
		labels := KMeans(rows, weight, k)
		classes := slices.Max(labels) + 1
		if want := min(k, len(different)); classes != want {
			t.Fatalf("%d classes, expected %d", classes, want)
		}
		mean := mat.NewDense(classes, 2, nil)
		total := make([]float64, classes)
		for i, l := range labels {
			total[l] += weight[i]
			for j := range 2 {
				mean.Set(l, j, mean.At(l, j)+weight[i]*rows.At(i, j))
			}
		}
		for i, l := range labels {
			own := 0.0
			for c := range classes {
				at := []float64{mean.At(c, 0) / total[c], mean.At(c, 1) / total[c]}
				if c == 0 {
					own = squared(rows.RawRowView(i), []float64{mean.At(l, 0) / total[l], mean.At(l, 1) / total[l]})
				}
				if squared(rows.RawRowView(i), at) < own-1e-9 {
					t.Fatalf("row %d is nearer to class %d than to its own, %d", i, c, l)
				}
			}
		}
	})
}
