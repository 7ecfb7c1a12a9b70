package spectral

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A centre that lost its rows goes to the row farthest from its own centre, and
// a second one not to the same row.
func TestCentresWithoutRows(t *testing.T) {
	f := &fit{
		rows:     [][]float64{{0}, {0.1}, {0.7}, {1}},
		weight:   []float64{1, 1, 1, 1},
		label:    []int{0, 0, 0, 0},
		distance: []float64{0, 0.01, 0.49, 1},
		centres:  [][]float64{{0}, {5}, {6}},
	}
	f.centre()
	if got := [][]float64{f.centres[1], f.centres[2]}; got[0][0] != 1 || got[1][0] != 0.7 {
		t.Errorf("centres without rows went to %v", got)
	}
	f.settle()
	if want := []int{0, 0, 2, 1}; !slices.Equal(f.label, want) {
		t.Errorf("labels %v, expected %v", f.label, want)
	}
}

// Only the ratios of weights matter, down to the smallest that Points allows.
func TestKMeansScale(t *testing.T) {
	for seed := range 40 {
		r := random(seed)
		rows, weight := mat.NewDense(60, 2, nil), make([]float64, 60)
		for i := range weight {
			rows.SetRow(i, []float64{0.7 * r.unit(), 0.7 * r.unit()})
			weight[i] = 1 + r.unit()
		}
		want := KMeans(rows, weight, 7)
		for i := range weight {
			weight[i] *= 0x1p-49
		}
		if got := KMeans(rows, weight, 7); !slices.Equal(got, want) {
			t.Errorf("seed %d: labels %v, with small weights %v", seed, want, got)
		}
	}
}
