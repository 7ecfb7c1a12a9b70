package spectral

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

const (
	seededStarts = 9
	maxRounds    = 100
	// Squared distances closer than this count as equal. Rows have length 1, so
	// it is far above rounding and far below any distance that matters.
	distanceTolerance = 1e-10
)

// KMeans splits the m rows, which have length 1 or less, into at most k >= 1
// classes that make the weighted sum of squares
//
//	sum_i w_i |y_i - c_label(i)|^2
//
// small, where c is the weighted mean of a class. It returns m labels, numbered
// by first appearance; there are fewer than k where fewer than k rows differ.
//
// Lloyd's iteration runs from 10 starts and the best end is taken, of equally
// good ones the first. The first start takes the heaviest row and then each
// time the row farthest from all that were taken; the other nine are drawn by
// k-means++ (D. Arthur and S. Vassilvitskii, SODA 2007) with weights, each from
// a fixed seed.
func KMeans(rows *mat.Dense, weight []float64, k int) []int {
	m, _ := rows.Dims()
	if k == 1 {
		return make([]int, m)
	}
	f := &fit{rows: make([][]float64, m), weight: weight, label: make([]int, m), distance: make([]float64, m)}
	for i := range m {
		f.rows[i] = rows.RawRowView(i)
	}
	var best []int
	least := math.Inf(1)
	for start := range seededStarts + 1 {
		f.centres = f.centres[:0]
		if start == 0 {
			f.spread(k)
		} else {
			f.draw(k, random(start))
		}
		if loss := f.settle(); loss < float64(least*(1-distanceTolerance))-distanceTolerance || best == nil {
			best, least = slices.Clone(f.label), loss
		}
	}
	renumber(best)
	return best
}

// fit is one run of k-means, reused from start to start.
type fit struct {
	rows     [][]float64
	weight   []float64
	centres  [][]float64
	label    []int     // of each row
	distance []float64 // of each row to its centre, squared
}

// spread picks the first centres by farthest-first, from the heaviest row on.
func (f *fit) spread(k int) {
	heaviest := 0
	for i, w := range f.weight {
		if w > f.weight[heaviest] {
			heaviest = i
		}
	}
	f.open(heaviest)
	for len(f.centres) < k {
		i := f.farthest()
		if f.distance[i] <= distanceTolerance {
			return
		}
		f.open(i)
	}
}

// draw picks the first centres at random, each row with a chance in proportion
// to its weight times its squared distance from the centres so far.
func (f *fit) draw(k int, r random) {
	chance := slices.Clone(f.weight)
	for {
		total := 0.0
		for _, c := range chance {
			total += c
		}
		f.open(choose(chance, total*r.unit()))
		if len(f.centres) == k || f.distance[f.farthest()] <= distanceTolerance {
			return
		}
		for i, d := range f.distance {
			chance[i] = 0
			if d > distanceTolerance {
				chance[i] = f.weight[i] * d
			}
		}
	}
}

// choose returns the index at which the running sum of chance passes at.
func choose(chance []float64, at float64) int {
	last := 0
	for i, c := range chance {
		if c <= 0 {
			continue
		}
		if last = i; at < c {
			break
		}
		at -= c
	}
	return last
}

// open adds row i as a centre and updates the distances to the nearest one.
func (f *fit) open(i int) {
	c := slices.Clone(f.rows[i])
	for j, row := range f.rows {
		if d := squared(row, c); len(f.centres) == 0 || d < f.distance[j] {
			f.distance[j] = d
		}
	}
	f.centres = append(f.centres, c)
}

// farthest returns the row with the largest distance, of equal ones the first.
func (f *fit) farthest() int {
	far := 0
	for i, d := range f.distance {
		if d > f.distance[far]+distanceTolerance {
			far = i
		}
	}
	return far
}

// settle runs Lloyd's iteration until no label changes and returns the weighted
// mean of squares.
func (f *fit) settle() float64 {
	for i := range f.label {
		f.label[i] = -1
	}
	for range maxRounds {
		if !f.assign() {
			break
		}
		f.centre()
	}
	loss, total := 0.0, 0.0
	for i, d := range f.distance {
		loss += float64(f.weight[i] * d)
		total += f.weight[i]
	}
	return loss / total
}

// assign gives each row to its nearest centre and says whether that changed
// anything. Of equally near ones a row stays with the centre that it has; at
// first that is the first.
func (f *fit) assign() bool {
	changed := false
	for i, row := range f.rows {
		near := max(f.label[i], 0)
		least := squared(row, f.centres[near])
		for c, centre := range f.centres {
			if c == near {
				continue
			}
			if d := squaredUpTo(row, centre, least); d < least-distanceTolerance {
				near, least = c, d
			}
		}
		changed = changed || near != f.label[i]
		f.label[i], f.distance[i] = near, least
	}
	return changed
}

// squaredUpTo returns |x - y|^2 if that is below limit, and else some number
// that is not. Most centres are far from most rows, and the first few
// coordinates show it: with 512 rows and 128 or 256 classes this halved the time.
func squaredUpTo(x, y []float64, limit float64) float64 {
	const block = 8
	sum := 0.0
	for len(x) > block && sum < limit {
		sum += squared(x[:block], y[:block])
		x, y = x[block:], y[block:]
	}
	if sum < limit {
		sum += squared(x, y)
	}
	return sum
}

// centre moves each centre to the weighted mean of its rows. A centre without
// rows moves to the row that is farthest from its own.
func (f *fit) centre() {
	total := make([]float64, len(f.centres))
	for c := range f.centres {
		clear(f.centres[c])
	}
	for i, row := range f.rows {
		c := f.centres[f.label[i]]
		total[f.label[i]] += f.weight[i]
		for j, x := range row {
			c[j] += float64(f.weight[i] * x)
		}
	}
	for c, centre := range f.centres {
		if total[c] == 0 {
			far := f.farthest()
			copy(centre, f.rows[far])
			f.distance[far] = 0
			continue
		}
		for j := range centre {
			centre[j] /= total[c]
		}
	}
}

// renumber renames the labels to 0, 1, 2, … by first appearance and returns how
// many there are.
func renumber(labels []int) int {
	name := make(map[int]int)
	for i, l := range labels {
		if _, known := name[l]; !known {
			name[l] = len(name)
		}
		labels[i] = name[l]
	}
	return len(name)
}
