package spectral

import (
	"cmp"
	"fmt"
	"slices"
)

// Settings say how fine the classes are.
type Settings struct {
	Sigma   float64 // width of the similarity in octaves, from 1e-6 to 1e6
	Classes int     // how many classes, from 1 to the number of points; 0 asks for the largest eigengap
}

// Outside of these bounds sigma^2 would vanish or overflow against distances.
const (
	minSigma = 1e-6
	maxSigma = 1e6
)

// Clustering is the answer for n points.
type Clustering struct {
	K           int         // number of classes
	Labels      []int       // of each point, 0 to K-1, numbered by first appearance
	Eigenvalues []float64   // of all components, ascending, n
	Components  []Component // in the order of their first points
}

// Cluster finds the classes of p. One k holds for all components: the largest
// eigengap of their merged spectrum, or Settings.Classes; each component is
// split into as many classes as it has eigenvalues among the first k, and no
// class reaches over two components. So there is at least one class for each
// component even if fewer were asked for. There are fewer than were asked for
// where points do not differ: an eigenvalue of 1 separates equal points only
// and does not count.
//
// No points have 0 classes. It costs O(n^2 d) for the graph and O(m^3) time and
// O(m^2) memory for each component of m points; a few hundred points are meant.
// It is an error, which names the field, if a coordinate is not finite, a weight
// or sigma is out of range, lengths do not agree, or Classes is below 0 or above
// the number of points.
func Cluster(p Points, s Settings) (*Clustering, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if !(s.Sigma >= minSigma && s.Sigma <= maxSigma) {
		return nil, fmt.Errorf("sigma: %v, expected octaves from %g to %g", s.Sigma, minSigma, maxSigma)
	}
	if s.Classes < 0 || s.Classes > len(p.At) {
		return nil, fmt.Errorf("classes: %d, expected 0 to the number of points, %d", s.Classes, len(p.At))
	}

	order := p.order()
	q := p.pick(order)
	var components []Component
	for _, members := range Connected(q, s.Sigma) {
		c, err := newComponent(q, members, s.Sigma)
		if err != nil {
			return nil, fmt.Errorf("component of point %d: %w", order[members[0]], err)
		}
		components = append(components, c)
	}

	found := &Clustering{Labels: make([]int, len(order)), Eigenvalues: divide(components, s.Classes)}
	for _, c := range components {
		rows := Embed(c.Vectors, c.Classes)
		labels := KMeans(rows, q.pick(c.Points).Weight, c.Classes)
		c.Classes = slices.Max(labels) + 1
		for i, at := range c.Points {
			found.Labels[order[at]] = found.K + labels[i]
		}
		found.K += c.Classes
		found.Components = append(found.Components, c.renamed(order))
	}
	renumber(found.Labels)
	slices.SortFunc(found.Components, func(a, b Component) int { return a.Points[0] - b.Points[0] })
	return found, nil
}

// divide sets how many classes each component gets and returns the merged
// spectrum. asked is the number of classes wanted, 0 for the largest eigengap.
func divide(components []Component, asked int) []float64 {
	type value struct {
		of     int // component
		lambda float64
	}
	var merged []value
	for i, c := range components {
		for _, lambda := range c.Values {
			merged = append(merged, value{i, lambda})
		}
	}
	slices.SortStableFunc(merged, func(a, b value) int { return cmp.Compare(a.lambda, b.lambda) })
	spectrum := make([]float64, len(merged))
	for i, v := range merged {
		spectrum[i] = v.lambda
	}

	k := asked
	if k == 0 {
		k = Eigengap(spectrum, len(components))
	}
	// Each component has its first eigenvalue, 0, whatever rounding made of it.
	seen := make([]bool, len(components))
	k -= len(components)
	rest := slices.DeleteFunc(merged, func(v value) bool {
		first := !seen[v.of]
		seen[v.of] = true
		return first || v.lambda > 1-valueTolerance
	})
	// Among equal eigenvalues, where rounding would decide, the component does.
	for from, i := 0, 1; i <= len(rest); i++ {
		if i == len(rest) || rest[i].lambda-rest[i-1].lambda > valueTolerance {
			slices.SortStableFunc(rest[from:i], func(a, b value) int { return a.of - b.of })
			from = i
		}
	}
	for _, v := range rest[:min(max(k, 0), len(rest))] {
		components[v.of].Classes++
	}
	return spectrum
}
