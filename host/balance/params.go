package balance

import (
	"fmt"
	"math"

	"github.com/poise-sched/poise/host/poise"
)

// Params are the constants of the form Demand. The defaults are the same for
// all workloads.
type Params struct {
	Beta    float64 // exponent of the gpu column's balance degree
	Lambda  float64 // weight of the room column
	Gamma   float64 // how fast scarce room becomes dear
	Epsilon float64 // weight of the prior shapes against all seen ones
	Cover   float64 // share of the weight that the kept shapes must reach
	Shapes  int     // how many seen shapes are kept at most
	Epoch   uint64  // arrivals between epochs; 0 = by the size of the fleet
}

// Defaults gives the shipped constants. Beta is 3/8 and not the 0.4 that
// measures alike, because x^(3/8) is three square roots and two products, the
// same bits on every build.
func Defaults() Params {
	return Params{Beta: 0.375, Lambda: 0.15, Gamma: 2, Epsilon: 0.1, Cover: 0.97, Shapes: 64}
}

// Validate names the first constant that is out of range.
func (p *Params) Validate() error {
	for _, f := range []struct {
		name     string
		v        float64
		from, to float64
	}{
		{"beta", p.Beta, 0.01, 4},
		{"lambda", p.Lambda, 0, 1e3},
		{"gamma", p.Gamma, 0, 8},
		{"epsilon", p.Epsilon, 0, 10},
		{"cover", p.Cover, 0.01, 1},
		{"shapes", float64(p.Shapes), 1, 4096},
	} {
		if !(f.v >= f.from && f.v <= f.to) {
			return &poise.Error{Kind: poise.Invalid, Op: "idle-balance parameters", Detail: fmt.Sprintf("%s: %v, expected %v to %v", f.name, f.v, f.from, f.to)}
		}
	}
	return nil
}

// power gives x^beta for x >= 0.
func (p *Params) power(x float64) float64 {
	if p.Beta == 0.375 {
		eighth := math.Sqrt(math.Sqrt(math.Sqrt(x)))
		return eighth * eighth * eighth
	}
	return math.Pow(x, p.Beta)
}

// scarcity gives x^gamma for x >= 0.
func (p *Params) scarcity(x float64) float64 {
	switch p.Gamma {
	case 1:
		return x
	case 2:
		return x * x
	}
	return math.Pow(x, p.Gamma)
}
