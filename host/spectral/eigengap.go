package spectral

import "math"

// maxSplits bounds how many classes Eigengap may find for a component, in the
// mean of all, so that points without structure do not become as many classes.
const maxSplits = 64

// Eigenvalues closer than this count as equal.
const valueTolerance = 1e-9

// Eigengap returns the number of classes k that the spectrum speaks for: the k
// with the largest gap
//
//	g_k = lambda_(k+1) - lambda_k,  components <= k <= min(n, 64 components)
//
// (von Luxburg 2007, section 8.3), of equal gaps the smallest k. spectrum has
// all n eigenvalues of all components, ascending; components says how many
// components there are. After the last value stands a 1: that is the eigenvalue
// of a point merged into an equal one (see Affinity), so that n far points can
// be n classes and merged points are judged as if they were not merged. No
// points give 0.
func Eigengap(spectrum []float64, components int) int {
	best, widest := components, math.Inf(-1)
	for k := max(components, 1); k <= min(len(spectrum), maxSplits*components); k++ {
		next := 1.0
		if k < len(spectrum) {
			next = spectrum[k]
		}
		if gap := next - spectrum[k-1]; gap > widest+valueTolerance {
			best, widest = k, gap
		}
	}
	return best
}
