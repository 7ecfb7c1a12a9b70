package spectral

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Component is one connected component of the similarity graph with its m
// points and the named matrices of the chain. Row i of each belongs to the
// point at position Points[i].
type Component struct {
	Points    []int         // positions in the Points given, ascending
	Affinity  *mat.SymDense // m x m
	Degree    []float64     // m
	Laplacian *mat.SymDense // normalised, m x m
	Values    []float64     // eigenvalues, ascending, m
	Vectors   *mat.Dense    // eigenvectors as columns in the order of Values, m x m
	Classes   int           // how many classes it was split into, at least 1
}

// logCut is -ln 1e-6: points are neighbours if their affinity without weights
// is above 1e-6. What that drops moved the eigenvalues of the golden fleets by up
// to 7e-8.
const logCut = 13.815510557964274

// Connected returns the connected components of the similarity graph: two
// points are joined if they are of one group and exp(-|x_i - x_j|^2 / 2 sigma^2)
// > 1e-6, that is, if they are less than 5.26 sigma apart. Positions ascend
// inside a component, and components are in the order of their first points.
//
// Components come first because an eigensolver on all of a graph that falls
// apart returns any basis of the space of the zero eigenvalue, which mixes
// components; and because the cost of dense solvers grows with m^3.
func Connected(p Points, sigma float64) [][]int {
	cut := 2 * sigma * sigma * logCut
	left := make([]int, len(p.At))
	for i := range left {
		left[i] = i
	}
	var components [][]int
	for len(left) > 0 {
		members := []int{left[0]}
		left = left[1:]
		for next := 0; next < len(members); next++ {
			i := members[next]
			rest := left[:0]
			for _, j := range left {
				if p.Group[i] == p.Group[j] && squared(p.At[i], p.At[j]) < cut {
					members = append(members, j)
				} else {
					rest = append(rest, j)
				}
			}
			left = rest
		}
		slices.Sort(members)
		components = append(components, members)
	}
	return components
}

// newComponent runs the chain up to the eigenvectors for the given members of p.
func newComponent(p Points, members []int, sigma float64) (Component, error) {
	q := p.pick(members)
	c := Component{Points: members, Classes: 1}
	c.Affinity = Affinity(q.At, q.Weight, sigma)
	c.Degree = Degree(c.Affinity)
	c.Laplacian = Laplacian(c.Affinity, c.Degree)
	var err error
	c.Values, c.Vectors, err = Eigen(c.Laplacian)
	return c, err
}

// renamed returns c for points that stand elsewhere: what was at position i is
// at position to[i]. Rows move so that positions ascend again.
func (c Component) renamed(to []int) Component {
	m := len(c.Points)
	from := make([]int, m) // from[i] is the old row of the new row i
	for i := range from {
		from[i] = i
	}
	slices.SortFunc(from, func(a, b int) int { return to[c.Points[a]] - to[c.Points[b]] })
	moved := Component{Points: make([]int, m), Values: c.Values, Classes: c.Classes}
	for i, a := range from {
		moved.Points[i] = to[c.Points[a]]
	}
	if slices.IsSorted(from) {
		moved.Affinity, moved.Degree, moved.Laplacian, moved.Vectors = c.Affinity, c.Degree, c.Laplacian, c.Vectors
		return moved
	}
	moved.Affinity, moved.Laplacian = mat.NewSymDense(m, nil), mat.NewSymDense(m, nil)
	moved.Degree, moved.Vectors = make([]float64, m), mat.NewDense(m, m, nil)
	for i, a := range from {
		moved.Degree[i] = c.Degree[a]
		copy(moved.Vectors.RawRowView(i), c.Vectors.RawRowView(a))
		for j := i; j < m; j++ {
			moved.Affinity.SetSym(i, j, c.Affinity.At(a, from[j]))
			moved.Laplacian.SetSym(i, j, c.Laplacian.At(a, from[j]))
		}
	}
	for j := range m { // another row may be the first of the largest entries
		orient(moved.Vectors, j)
	}
	return moved
}
