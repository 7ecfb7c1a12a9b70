package spectral

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Three points of weight 2, 1 and 1 on a line, in octaves, with sigma = 1:
//
//	W_12 = 2 exp(-1/2) = 1.213, W_13 = 2 exp(-3^2/2) = 0.022, W_23 = exp(-2^2/2) = 0.135
//
// The eigenvalues are 0, 0.150 and 0.797; with a 1 after the last the gaps are
// 0.150, 0.647 and 0.203: two classes, the first two points and the third.
func ExampleCluster() {
	p := Points{At: [][]float64{{0}, {1}, {3}}, Weight: []float64{2, 1, 1}, Group: []int{0, 0, 0}}
	c, err := Cluster(p, Settings{Sigma: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	one := c.Components[0]
	fmt.Printf("W =\n%.3f\n", mat.Formatted(one.Affinity))
	fmt.Printf("D = %.3f\n", one.Degree)
	fmt.Printf("L =\n%.3f\n", mat.Formatted(one.Laplacian))
	fmt.Printf("lambda = %.3f\n", one.Values)
	fmt.Printf("U =\n%.3f\n", mat.Formatted(one.Vectors))
	fmt.Printf("rows =\n%.3f\n", mat.Formatted(Embed(one.Vectors, one.Classes)))
	fmt.Printf("k = %d, labels = %d\n", c.K, c.Labels)
	// Output:
	// W =
	// ⎡4.000  1.213  0.022⎤
	// ⎢1.213  1.000  0.135⎥
	// ⎣0.022  0.135  1.000⎦
	// D = [5.235 2.348 1.158]
	// L =
	// ⎡ 0.236  -0.346  -0.009⎤
	// ⎢-0.346   0.574  -0.082⎥
	// ⎣-0.009  -0.082   0.136⎦
	// lambda = [0.000 0.150 0.797]
	// U =
	// ⎡ 0.774  -0.359  -0.521⎤
	// ⎢ 0.518  -0.114   0.848⎥
	// ⎣ 0.364   0.926  -0.098⎦
	// rows =
	// ⎡ 0.907  -0.421⎤
	// ⎢ 0.977  -0.214⎥
	// ⎣ 0.366   0.931⎦
	// k = 2, labels = [0 0 1]
}
