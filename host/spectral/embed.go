package spectral

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Embed returns the m x k matrix of the first k columns of the m x m
// eigenvectors with every row divided by its length (Ng, Jordan and Weiss
// 2002, step 4): one point on the unit sphere for each row. In the ideal case
// of k separate classes the rows of one class are one point and those of two
// classes are at a right angle. Dividing by the length also takes out the
// factor sqrt(D_ii) that every row carries.
func Embed(vectors *mat.Dense, k int) *mat.Dense {
	m, _ := vectors.Dims()
	rows := mat.NewDense(m, k, nil)
	for i := range m {
		row := rows.RawRowView(i)
		copy(row, vectors.RawRowView(i))
		length := 0.0
		for _, x := range row {
			length += float64(x * x)
		}
		// A row of zeros is not possible before rounding, as the first
		// eigenvector has no zero; where rounding makes one, it stays.
		if length = math.Sqrt(length); length == 0 {
			continue
		}
		for j := range row {
			row[j] /= length
		}
	}
	return rows
}
