package poise_test

import (
	"math/bits"
	"testing"

	poise "github.com/poise-sched/poise/abi/guest/go"
	"pgregory.net/rapid"
)

func TestTightest(t *testing.T) {
	f := func(count, milli int, free []uint16, wantMask uint32, wantFits bool) {
		t.Helper()
		ask := poise.Ask{Count: count, Milli: milli}
		if mask, fits := ask.Tightest(free); mask != wantMask || fits != wantFits {
			t.Errorf("%d x %d on %v: got %b and %v, want %b and %v", count, milli, free, mask, fits, wantMask, wantFits)
		}
	}
	f(1, 500, []uint16{1000, 500, 499}, 0b010, true)
	f(1, 500, []uint16{600, 600}, 0b01, true)
	f(1, 500, []uint16{400, 0}, 0, false)
	f(2, 1000, []uint16{1000, 250, 1000, 1000}, 0b0101, true)
	f(3, 1000, []uint16{1000, 250, 1000}, 0, false)
	f(0, 0, []uint16{1000}, 0, true)
	f(1, 1000, nil, 0, false)
}

// It fits exactly where enough devices are free; no device outside the mask that
// would do has less free than one inside.
func TestTightestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ask := poise.Ask{Count: rapid.IntRange(1, 4).Draw(t, "count"), Milli: rapid.IntRange(1, 1000).Draw(t, "milli")}
		free := rapid.SliceOfN(rapid.Uint16Range(0, 1000), 0, 32).Draw(t, "free")
		mask, fits := ask.Tightest(free)
		equal(t, "fits", fits, ask.Enough(free) >= ask.Count)
		if !fits {
			equal(t, "mask", mask, 0)
			return
		}
		equal(t, "devices", bits.OnesCount32(mask), ask.Count)
		for in, a := range free {
			for out, b := range free {
				if mask>>in&1 == 1 && mask>>out&1 == 0 && int(b) >= ask.Milli && b < a {
					t.Fatalf("mask %b of %v: device %d, expected device %d", mask, free, in, out)
				}
			}
			if mask>>in&1 == 1 && int(a) < ask.Milli {
				t.Fatalf("mask %b of %v: device %d has too little", mask, free, in)
			}
		}
	})
}
