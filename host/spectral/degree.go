package spectral

import "gonum.org/v1/gonum/mat"

// Degree returns the diagonal of the degree matrix of the m x m affinity w:
//
//	D_ii = sum_j W_ij
//
// (von Luxburg 2007, section 2.1). With the self-loops of Affinity every degree
// is at least w_i^2 > 0, so that Laplacian never divides by zero.
func Degree(w *mat.SymDense) []float64 {
	m := w.SymmetricDim()
	degree := make([]float64, m)
	for i := range m {
		for j := range m {
			degree[i] += w.At(i, j)
		}
	}
	return degree
}
