package workload

import (
	"math"
	"math/rand/v2"
)

// random draws from PCG (M. E. O'Neill, PCG: A Family of Simple Fast
// Space-Efficient Statistically Good Algorithms, HMC-CS-2014-0905), whose
// numbers are fixed by its definition. What is made of them here uses sums,
// products and comparisons alone.
type random struct{ source *rand.PCG }

// newRandom gives the stream of that number of a seed.
func newRandom(seed, stream uint64) random { return random{rand.NewPCG(seed, stream)} }

// unit is uniform, at least 0 and below 1.
func (r random) unit() float64 { return float64(r.source.Uint64()>>11) / (1 << 53) }

// below is uniform among 0 to n-1.
func (r random) below(n int) int { return int(r.unit() * float64(n)) }

// exponential has mean 1. It is von Neumann's method (Various Techniques Used in
// Connection with Random Digits, 1951): the length of a run of falling draws
// decides, so that no logarithm is needed.
func (r random) exponential() float64 {
	for whole := 0.0; ; whole++ {
		first := r.unit()
		last, length := first, 1
		for {
			next := r.unit()
			if next >= last {
				break
			}
			last, length = next, length+1
		}
		if length%2 == 1 {
			return whole + first
		}
	}
}

// normal has mean 0 and deviation 1: an exponential draw a is kept with the
// chance exp(-(a-1)²/2), which makes it half of a normal one.
func (r random) normal() float64 {
	for {
		a := r.exponential()
		if 2*r.exponential() < float64((a-1)*(a-1)) {
			continue
		}
		if r.unit() < 0.5 {
			return -a
		}
		return a
	}
}

// ln2 is the logarithm of 2 in two parts; the first has zeros at its end, so that
// a small whole number times it is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// exp is e to the x, for x from -700 to 700, within two units of the last place.
// That of package math is in assembly on some targets, whose last bits differ.
func exp(x float64) float64 {
	k := math.Floor(x/(ln2High+ln2Low) + 0.5)
	r := (x - float64(k*ln2High)) - float64(k*ln2Low)
	sum := 1.0
	for n := 18.0; n >= 1; n-- {
		sum = 1 + float64(r*sum)/n
	}
	return math.Ldexp(sum, int(k))
}
