package resource

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestVectorAddSub(t *testing.T) {
	f := func(op func(v, w Vector) (int, bool), v, w, want Vector, dim int, ok bool) {
		t.Helper()
		got := slices.Clone(v)
		if d, k := op(got, w); d != dim || k != ok || !slices.Equal(got, want) {
			t.Errorf("%v with %v gives %v, %d, %v; expected %v, %d, %v", v, w, got, d, k, want, dim, ok)
		}
	}
	const big, small = math.MaxInt64, math.MinInt64
	f(Vector.Add, Vector{1, 2}, Vector{3, 4}, Vector{4, 6}, 0, true)
	f(Vector.Add, Vector{1, 2}, Vector{3}, Vector{4, 2}, 0, true)
	f(Vector.Add, Vector{1}, nil, Vector{1}, 0, true)
	f(Vector.Add, Vector{1}, Vector{3, 0}, Vector{4}, 0, true)
	f(Vector.Add, Vector{1}, Vector{3, 4}, Vector{1}, 1, false)
	f(Vector.Add, Vector{1, big}, Vector{3, 1}, Vector{1, big}, 1, false)
	f(Vector.Add, Vector{big - 1, 0}, Vector{1, big}, Vector{big, big}, 0, true)
	f(Vector.Add, Vector{-1, 5}, Vector{small, 5}, Vector{-1, 5}, 0, false)
	f(Vector.Sub, Vector{1, 2}, Vector{3, 1}, Vector{-2, 1}, 0, true)
	f(Vector.Sub, Vector{1, -2}, Vector{1, big}, Vector{1, -2}, 1, false)
	f(Vector.Sub, Vector{0, 0}, Vector{0, small}, Vector{0, 0}, 1, false)
	f(Vector.Sub, Vector{}, Vector{0, 7}, Vector{}, 1, false)
}

func TestVectorSubUndoesAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Vector(rapid.SliceOfN(rapid.Int64(), 3, 3).Draw(t, "v"))
		w := Vector(rapid.SliceOfN(rapid.Int64(), 0, 4).Draw(t, "w"))
		before := slices.Clone(v)
		if _, ok := v.Add(w); ok {
			if dim, ok := v.Sub(w); !ok {
				t.Fatalf("dimension %d of the sum cannot be taken back", dim)
			}
		}
		if !slices.Equal(v, before) {
			t.Fatalf("%v became %v", before, v)
		}
	})
}

// B4: however many shares are taken and given back, nothing is left over.
func TestReleasesEndAtZero(t *testing.T) {
	share := func(text string) int64 {
		count, milli, err := ParseDevices("gpu", text)
		if err != nil || count != 1 {
			t.Fatalf("ParseDevices(gpu, %q) = %d, %d, %v; expected a share of one", text, count, milli, err)
		}
		return int64(milli)
	}
	cpu, err := ParseRequest("cpu", "0.1")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := ParseRequest("memory", "0.1Gi")
	if err != nil {
		t.Fatal(err)
	}
	asks := []Vector{
		{cpu, memory, share("0.1")},
		{0, memory, share("0.111111")},
		{cpu, 0, share("0.0001")},
	}
	allocated := make(Vector, 3)
	for range 9 {
		allocated.Add(asks[1])
	}
	for range 9 {
		allocated.Sub(asks[1])
	}
	var held []Vector
	rng := rand.New(rand.NewSource(4))
	release := func() {
		i := rng.Intn(len(held))
		if dim, ok := allocated.Sub(held[i]); !ok {
			t.Fatalf("dimension %d does not fit", dim)
		}
		held[i] = held[len(held)-1]
		held = held[:len(held)-1]
	}
	for range 1_000_000 {
		ask := asks[rng.Intn(len(asks))]
		if dim, ok := allocated.Add(ask); !ok {
			t.Fatalf("dimension %d does not fit", dim)
		}
		held = append(held, ask)
		for len(held) > 0 && rng.Intn(2) == 0 {
			release()
		}
	}
	for len(held) > 0 {
		release()
	}
	if !slices.Equal(allocated, Vector{0, 0, 0}) {
		t.Errorf("after all releases %v is allocated, expected nothing", allocated)
	}
}

// Nine shares of a ninth fill a device; a finer share is rounded up, so that
// eight of it do.
func TestSharesOfADevice(t *testing.T) {
	f := func(text string, want int32) {
		t.Helper()
		_, milli, err := ParseDevices("gpu", text)
		if err != nil || 1000/milli != want {
			t.Errorf("a device holds %d shares of %q (%v), expected %d", 1000/max(milli, 1), text, err, want)
		}
	}
	f("0.1", 10)
	f("0.111", 9)
	f("0.111111", 9) // B4: the ninth of nine must fit
	f("0.3333333", 3)
	f("0.1115", 8)
	f("0.5", 2)
	f("0.0001", 1000)
}
