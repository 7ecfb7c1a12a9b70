package spectral

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Laplacian returns the symmetric normalised graph Laplacian of the m x m
// affinity w with the given degrees (all > 0), m x m:
//
//	L = I - D^(-1/2) W D^(-1/2),  L_ij = [i = j] - W_ij / sqrt(D_ii D_jj)
//
// Its eigenvalues lie in [0, 2], and in [0, 1] for a Gaussian affinity, which
// has no negative eigenvalue. The number of zeros is the number of connected
// components; the eigenvector of the one zero of a connected graph is
// D^(1/2) 1 (von Luxburg 2007, section 3.2). The eigenvectors of the smallest
// ones relax the normalised cut of Shi and Malik (2000).
func Laplacian(w *mat.SymDense, degree []float64) *mat.SymDense {
	m := w.SymmetricDim()
	root := make([]float64, m)
	for i, d := range degree {
		root[i] = math.Sqrt(d)
	}
	l := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			x := -w.At(i, j) / root[i] / root[j]
			if i == j {
				x++
			}
			l.SetSym(i, j, x)
		}
	}
	return l
}
