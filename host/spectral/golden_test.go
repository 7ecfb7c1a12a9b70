package spectral

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// goldenCase is what the independent reference found for one file and exponent.
type goldenCase struct {
	K           int       `json:"k"`
	Eigenvalues []float64 `json:"eigenvalues"`
	Partition   []int     `json:"partition"`
}

// openGolden opens a file of the golden data or skips the test.
func openGolden(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "golden", "clustering", name))
	if os.IsNotExist(err) {
		t.Skipf("no golden data here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// fleet is one file of nodes: features log2(1 + x) and the number of the model.
type fleet struct {
	at    [][]float64
	model []int
}

func readFleet(t *testing.T, name string) fleet {
	t.Helper()
	records, err := csv.NewReader(openGolden(t, name+".csv")).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var f fleet
	models := map[string]int{}
	for _, r := range records[1:] { // name, cores, memory, devices, model, disk, network, truth
		var row []float64
		for _, column := range []int{1, 2, 3, 5, 6} {
			x, err := strconv.ParseFloat(r[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, math.Log2(1+x))
		}
		if _, known := models[r[4]]; !known {
			models[r[4]] = len(models)
		}
		f.at, f.model = append(f.at, row), append(f.model, models[r[4]])
	}
	return f
}

// collapse puts the nodes on a grid of 0.05 octaves. It returns one point for
// each cell, of weight count^alpha, and the point of every node.
func (f fleet) collapse(alpha float64) (Points, []int) {
	const step = 0.05
	var p Points
	cells := map[string]int{}
	of := make([]int, len(f.at))
	for i, row := range f.at {
		key := strconv.Itoa(f.model[i])
		centre := make([]float64, len(row))
		for j, x := range row {
			cell := math.Floor(x/step + 0.5)
			key += "," + strconv.FormatFloat(cell, 'f', 0, 64)
			centre[j] = cell * step
		}
		if _, known := cells[key]; !known {
			cells[key] = len(cells)
			p.At, p.Weight, p.Group = append(p.At, centre), append(p.Weight, 0), append(p.Group, f.model[i])
		}
		of[i] = cells[key]
		p.Weight[of[i]]++
	}
	for i, count := range p.Weight {
		p.Weight[i] = math.Pow(count, alpha)
	}
	return p, of
}

// spreadOver gives each node the label of its point, numbered by first
// appearance among the nodes. Two partitions so numbered are equal exactly when
// their adjusted Rand index is 1.
func spreadOver(labels, of []int) []int {
	nodes := make([]int, len(of))
	for i, point := range of {
		nodes[i] = labels[point]
	}
	renumber(nodes)
	return nodes
}

func TestGolden(t *testing.T) {
	expected := map[string]map[string]json.RawMessage{}
	if err := json.NewDecoder(openGolden(t, "expected.json")).Decode(&expected); err != nil {
		t.Fatal(err)
	}
	check := func(file, exponent string, alpha float64) {
		t.Helper()
		var want goldenCase
		if err := json.Unmarshal(expected[file][exponent], &want); err != nil {
			t.Fatal(err)
		}
		p, of := readFleet(t, file).collapse(alpha)
		got, err := Cluster(p, Settings{Sigma: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		if got.K != want.K {
			t.Errorf("%s %s: k is %d, the reference says %d", file, exponent, got.K, want.K)
		}
		if !slices.Equal(spreadOver(got.Labels, of), want.Partition) {
			t.Errorf("%s %s: the partition differs from the reference", file, exponent)
		}
		largest := 0.0
		for i, v := range want.Eigenvalues {
			largest = max(largest, math.Abs(got.Eigenvalues[i]-v))
		}
		if largest > 1e-6 {
			t.Errorf("%s %s: an eigenvalue is %g away from the reference", file, exponent, largest)
		}
		t.Logf("%s %s: %d points, k %d, eigenvalues within %.1e", file, exponent, len(p.At), got.K, largest)
	}
	check("openb", "alpha_1.0", 1)
	check("openb", "alpha_0.5", 0.5)
	check("synth8", "alpha_1.0", 1)
	check("synth8", "alpha_0.5", 0.5)
	check("synth20", "alpha_1.0", 1)
	check("synth20", "alpha_0.5", 0.5)
	check("near12", "alpha_1.0", 1)
	check("near12", "alpha_0.5", 0.5)
}
