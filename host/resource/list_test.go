package resource

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestList(t *testing.T) {
	l, err := NewList(Amount{"memory", 1 << 30}, Amount{"cpu", 500})
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, want int64, named bool) {
		t.Helper()
		if got, ok := l.Find(name); got != want || ok != named {
			t.Errorf("Find(%q) = %d, %v; expected %d, %v", name, got, ok, want, named)
		}
	}
	f("cpu", 500, true)
	f("memory", 1<<30, true)
	f("fpga", 0, false) // B12: absent is 0, not unlimited
}

func TestListRefuses(t *testing.T) {
	f := func(l List, want string) {
		t.Helper()
		if err := l.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v: %v; expected %s", l, err, want)
		}
	}
	f(List{{"", 1}}, "dimension with an empty name, expected a name such as cpu")
	f(List{{"cpu", 1}, {"cpu", 1}}, "cpu: given twice, expected once")
	f(List{{"memory", 1}, {"cpu", 1}}, "cpu after memory, expected names in order")
	f(List{{"cpu", -1}}, "cpu: -1, expected 0 or more")
	if l, err := NewList(Amount{"cpu", 1}, Amount{"gpu", 1}, Amount{"cpu", 2}); err == nil {
		t.Errorf("NewList took cpu twice: %v", l)
	}
}

func TestCheckedArithmetic(t *testing.T) {
	edges := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := edges.Draw(t, "a"), edges.Draw(t, "b")
		sum := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		if got, ok := Add(a, b); ok != sum.IsInt64() || ok && got != sum.Int64() {
			t.Fatalf("Add(%d, %d) = %d, %v; expected %v", a, b, got, ok, sum)
		}
		difference := new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
		if got, ok := Sub(a, b); ok != difference.IsInt64() || ok && got != difference.Int64() {
			t.Fatalf("Sub(%d, %d) = %d, %v; expected %v", a, b, got, ok, difference)
		}
	})
}
