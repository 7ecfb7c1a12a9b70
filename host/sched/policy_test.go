package sched

import (
	"math"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

func TestRound(t *testing.T) {
	f := func(x, want float64) {
		t.Helper()
		got := poise.RoundLoss(x)
		if got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("Round(%v) = %v, expected %v", x, got, want)
		}
	}
	negativeZero := math.Copysign(0, -1)
	f(0, 0)
	f(negativeZero, 0)
	f(math.SmallestNonzeroFloat64, 0)
	f(-math.SmallestNonzeroFloat64, 0)
	f(4.9e-10, 0)
	f(-4.9e-10, 0)
	f(5e-10, 1e-9) // halves away from zero
	f(-5e-10, -1e-9)
	f(1.5e-9, 2e-9)
	f(0.123456789499, 0.123456789)
	f(0.1234567895001, 0.12345679)
	f(1.0/3, 0.333333333)
	f(-2.0/3, -0.666666667)
	f(0.1+0.2, 0.3)
	f(8999999.1234567891, 8999999.123456789)
	f(math.Nextafter(9e6, 0), math.Nextafter(9e6, 0)) // nine decimals say less than float64 has here
	f(9e6, 9e6)
	f(9564191.455910001, 9564191.455910001) // unchanged above: the product would lose the last bit
	f(-9e6-0.5, -9e6-0.5)
	f(1e300, 1e300)
	f(-math.MaxFloat64, -math.MaxFloat64)
}

// Rounding keeps order and is done once: what was rounded stays as it is.
func TestRoundIsMonotonic(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64Range(-1e7, 1e7), rapid.Float64())
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if poise.RoundLoss(a) > poise.RoundLoss(b) {
			t.Fatalf("Round(%v) = %v above Round(%v) = %v", a, poise.RoundLoss(a), b, poise.RoundLoss(b))
		}
		if r := poise.RoundLoss(a); poise.RoundLoss(r) != r || math.Abs(r-a) > 5.0001e-10+math.Abs(a)*1e-15 {
			t.Fatalf("Round(%v) = %v, rounded again %v", a, r, poise.RoundLoss(r))
		}
	})
}

// The tie rule is part of recorded decisions: these values stay for ever.
func TestSeededHashNeverChanges(t *testing.T) {
	f := func(seed uint64, job poise.JobID, name string, want uint64) {
		t.Helper()
		if got := hash(seed, job, name); got != want {
			t.Errorf("hash(%d, %q, %q) = %#x, expected %#x", seed, job, name, got, want)
		}
	}
	f(0, "", "", 0x10d4eef8c2962018)
	f(1, "job-1", "node-a", 0x792f02a8bc561c4)
	f(1, "job-1", "node-b", 0x7cde2ae421ed49dc)
	f(2, "job-1", "node-a", 0x60b99e03839da705)
	f(math.MaxUint64, "job-é", "n", 0x9e5c3f8b1aae0786)
}

// Where the job's name ends and the node's begins is part of the hash.
func TestSeededHashKeepsNamesApart(t *testing.T) {
	if hash(7, "ab", "c") == hash(7, "a", "bc") {
		t.Error("hash of ab, c and of a, bc are equal")
	}
}

func TestTieNames(t *testing.T) {
	f := func(ties Ties, want string) {
		t.Helper()
		if got := ties.String(); got != want {
			t.Errorf("%d is %q, expected %q", ties, got, want)
		}
	}
	f(ByName, "name")
	f(Seeded, "seeded")
	f(Published, "published")
}
