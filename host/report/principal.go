package report

import (
	"cmp"
	"math"
	"slices"
)

// principal gives the two directions of length 1 in which the rows differ most,
// which are the eigenvectors of their covariance (Pearson 1901). Of each, the
// entry of the largest size is positive; the second is 0 in one dimension.
func principal(rows [][]float64) [2][]float64 {
	dims := len(rows[0])
	mean := make([]float64, dims)
	for _, row := range rows {
		for k, x := range row {
			mean[k] += x / float64(len(rows))
		}
	}
	a := make([][]float64, dims)
	for j := range a {
		a[j] = make([]float64, dims)
		for k := range a[j] {
			for _, row := range rows {
				a[j][k] += float64((row[j] - mean[j]) * (row[k] - mean[k]))
			}
		}
	}
	vectors := jacobi(a)
	order := make([]int, dims)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a[j][j], a[i][i]) })
	axes := [2][]float64{make([]float64, dims), make([]float64, dims)}
	for i, of := range order[:min(2, dims)] {
		largest := 0
		for k := range dims {
			axes[i][k] = vectors[k][of]
			if math.Abs(axes[i][k]) > math.Abs(axes[i][largest])+1e-9 {
				largest = k
			}
		}
		if axes[i][largest] < 0 {
			for k := range axes[i] {
				axes[i][k] = -axes[i][k]
			}
		}
	}
	return axes
}

// jacobi turns the symmetric matrix a into the diagonal one of its eigenvalues
// by cyclic rotations, and gives the eigenvectors as columns (Golub and Van
// Loan, Matrix Computations, section 8.5). Rows here are at most 16 long, so
// thirty rounds, of which six are usually enough, cost nothing.
func jacobi(a [][]float64) [][]float64 {
	n := len(a)
	v := make([][]float64, n)
	for i := range v {
		v[i] = make([]float64, n)
		v[i][i] = 1
	}
	for range 30 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, v, p, q)
			}
		}
	}
	return v
}

// rotate makes a[p][q] zero.
func rotate(a, v [][]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	tau := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(tau) + math.Hypot(1, tau))
	if tau < 0 {
		t = -t
	}
	c := 1 / math.Hypot(1, t)
	s := t * c
	for k := range a {
		x, y := a[k][p], a[k][q]
		a[k][p], a[k][q] = c*x-s*y, s*x+c*y
	}
	for k := range a {
		x, y := a[p][k], a[q][k]
		a[p][k], a[q][k] = c*x-s*y, s*x+c*y
	}
	for k := range v {
		x, y := v[k][p], v[k][q]
		v[k][p], v[k][q] = c*x-s*y, s*x+c*y
	}
}
