package poise

import "math"

// RoundLoss gives a loss as it is ranked: to 1e-9 below 9e6, where float64 still
// has room for nine decimals, unchanged above; minus zero becomes zero.
func RoundLoss(x float64) float64 {
	if math.Abs(x) < 9e6 {
		x = math.Round(x*1e9) / 1e9
	}
	return x + 0
}
