package workload

import (
	"math"
	"testing"
)

// The numbers of a seed stand here: whatever changes them changes every workload
// that was made from it.
func TestDrawsAreFixed(t *testing.T) {
	r := newRandom(7, 0)
	for i, want := range []uint64{0x3fd13ff59c0dcc5c, 0x3fd32e9478b9edc0, 0x3fbda0d28a326010, 0x3fc57383ba422754} {
		if got := math.Float64bits(r.unit()); got != want {
			t.Errorf("unit %d: %#x, want %#x", i, got, want)
		}
	}
	for i, want := range []uint64{0xbff88ed6463047b3, 0xbfb9dcd9688efc28, 0x3ff22d103a0308cd, 0xbfef7336f448a461} {
		if got := math.Float64bits(r.normal()); got != want {
			t.Errorf("normal %d: %#x, want %#x", i, got, want)
		}
	}
}

func TestMoments(t *testing.T) {
	const n = 200_000
	f := func(name string, draw func(random) float64, mean, variance float64) {
		t.Helper()
		r, sum, squares := newRandom(3, 0), 0.0, 0.0
		for range n {
			x := draw(r)
			sum += x
			squares += x * x
		}
		m := sum / n
		if v := squares/n - m*m; math.Abs(m-mean) > 0.01 || math.Abs(v-variance) > 0.02 {
			t.Errorf("%s: mean %v and variance %v, want %v and %v", name, m, v, mean, variance)
		}
	}
	f("unit", random.unit, 0.5, 1.0/12)
	f("exponential", random.exponential, 1, 1)
	f("normal", random.normal, 0, 1)
	f("below", func(r random) float64 { return float64(r.below(4)) }, 1.5, 1.25)
}

func TestExp(t *testing.T) {
	for x := -700.0; x <= 700; x += 0.37 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-15*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if exp(0) != 1 {
		t.Errorf("exp(0) = %v", exp(0))
	}
}

func TestWave(t *testing.T) {
	f := func(hours, want float64) {
		t.Helper()
		if got := wave(hours * 3600); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v h: %v, want %v", hours, got, want)
		}
	}
	f(14, 1)
	f(2, -1)
	f(8, 0)
	f(20, 0)
	f(14+240, 1)
}
