package spectral

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Entries of an eigenvector whose sizes differ by less than this share of the
// largest count as equally large.
const signTolerance = 1e-6

// Eigen returns the eigenvalues of the m x m Laplacian l, ascending, and its
// eigenvectors of length 1 as the columns of an m x m matrix in the same order.
// Values that rounding left below 0 are 0. The sign of each vector, which the
// equation leaves open, is the one that makes its largest entry positive; of
// equally large entries the first counts. It is an error if the iteration does
// not converge.
//
// The work is done on a copy whose rows are an odd number of values apart: with
// rows a power of two apart the reduction to tridiagonal form was measured 5 to
// 11 times slower (m = 256 and 512 against 257 and 513), as all of a column
// falls into a few cache sets.
func Eigen(l *mat.SymDense) ([]float64, *mat.Dense, error) {
	m := l.SymmetricDim()
	stride := m | 1
	a := blas64.Symmetric{Uplo: blas.Upper, N: m, Stride: stride, Data: make([]float64, m*stride)}
	for i := range m {
		for j := i; j < m; j++ {
			a.Data[i*stride+j] = l.At(i, j)
		}
	}
	values := make([]float64, m)
	ask := []float64{0}
	lapack64.Syev(lapack.EVCompute, a, values, ask, -1)
	work := make([]float64, int(ask[0]))
	if !lapack64.Syev(lapack.EVCompute, a, values, work, len(work)) {
		return nil, nil, errors.New("eigenvalues: the iteration did not converge")
	}
	for i, v := range values {
		values[i] = max(v, 0)
	}
	vectors := mat.NewDense(m, stride, a.Data).Slice(0, m, 0, m).(*mat.Dense)
	for j := range m {
		orient(vectors, j)
	}
	return values, vectors, nil
}

// orient turns column j so that its first largest entry is positive.
func orient(vectors *mat.Dense, j int) {
	m, _ := vectors.Dims()
	largest := 0.0
	for i := range m {
		largest = max(largest, math.Abs(vectors.At(i, j)))
	}
	first := 0
	for math.Abs(vectors.At(first, j)) < largest*(1-signTolerance) {
		first++
	}
	if vectors.At(first, j) > 0 {
		return
	}
	for i := range m {
		vectors.Set(i, j, -vectors.At(i, j))
	}
}
