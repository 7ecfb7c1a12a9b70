package spectral

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Affinity returns the weighted adjacency matrix of the similarity graph, m x m:
//
//	W_ij = w_i w_j exp(-|x_i - x_j|^2 / (2 sigma^2))
//
// for m points of one group with coordinates at (octaves), weights w > 0, and
// sigma > 0 in octaves. The Gaussian similarity is that of Shi and Malik (2000)
// and of von Luxburg (2007, section 2.2).
//
// The diagonal is kept: W_ii = w_i^2. A point of weight w stands for w equal
// points, and w equal points do see each other. With these self-loops the
// partition of the full graph into sets of equal points is equitable: every
// point of set i has the same sum of affinities w_j a_ij to set j. So the
// spectrum of the full graph is the spectrum of this small one plus an
// eigenvalue 1 for each point that was merged away, the eigenvectors of the
// small one are those of the full one, constant on each set, and clustering
// the small one is exact, not an approximation.
func Affinity(at [][]float64, weight []float64, sigma float64) *mat.SymDense {
	m := len(at)
	w := mat.NewSymDense(m, nil)
	scale := 2 * sigma * sigma
	for i := range m {
		for j := i; j < m; j++ {
			w.SetSym(i, j, weight[i]*weight[j]*math.Exp(-squared(at[i], at[j])/scale))
		}
	}
	return w
}
