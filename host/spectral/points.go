package spectral

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Points are n weighted points in d dimensions. Points of different groups have
// affinity 0, however near they lie. Points that are equal are best given once
// with the sum of their weights: the answer is the same and the matrices are
// smaller (see Affinity).
type Points struct {
	At     [][]float64 // n rows of d coordinates, finite, in octaves
	Weight []float64   // n, from 1e-15 to 1e15
	Group  []int       // n
}

// Weights outside of these bounds would overflow or vanish in products of two.
const (
	minWeight = 1e-15
	maxWeight = 1e15
)

// check returns an error that names the first field that is not as Points says.
func (p Points) check() error {
	n := len(p.At)
	if len(p.Weight) != n {
		return fmt.Errorf("weight: %d values, expected one for each of %d points", len(p.Weight), n)
	}
	if len(p.Group) != n {
		return fmt.Errorf("group: %d values, expected one for each of %d points", len(p.Group), n)
	}
	for i, row := range p.At {
		if len(row) != len(p.At[0]) {
			return fmt.Errorf("at[%d]: %d coordinates, expected %d like the first point", i, len(row), len(p.At[0]))
		}
		for j, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("at[%d][%d]: %v, expected a finite number", i, j, x)
			}
		}
		if w := p.Weight[i]; !(w >= minWeight && w <= maxWeight) {
			return fmt.Errorf("weight[%d]: %v, expected a number from %g to %g", i, w, minWeight, maxWeight)
		}
	}
	return nil
}

// order returns the positions of p sorted by group, coordinates and weight. Sums
// taken in this order do not depend on the order in which the points were given.
func (p Points) order() []int {
	order := make([]int, len(p.At))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(
			cmp.Compare(p.Group[i], p.Group[j]),
			slices.Compare(p.At[i], p.At[j]),
			cmp.Compare(p.Weight[i], p.Weight[j]),
			cmp.Compare(i, j),
		)
	})
	return order
}

// pick returns the points at the given positions; rows are shared, not copied.
func (p Points) pick(positions []int) Points {
	q := Points{
		At:     make([][]float64, len(positions)),
		Weight: make([]float64, len(positions)),
		Group:  make([]int, len(positions)),
	}
	for i, at := range positions {
		q.At[i], q.Weight[i], q.Group[i] = p.At[at], p.Weight[at], p.Group[at]
	}
	return q
}

// squared returns |x - y|^2. The product is rounded before it is added, so that
// no build fuses the two.
func squared(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		d := v - y[i]
		sum += float64(d * d)
	}
	return sum
}
