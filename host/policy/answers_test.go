package policy

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is copied are the numbers themselves, as many as go before the four that
// have the first one in them that is not finite, and the others are left alone.
func TestCopyFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(rapid.OneOf(
			rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}),
			rapid.SampledFrom([]float64{1, 2, 3, math.NaN(), math.Inf(1), math.Inf(-1)}),
		), 0, 40).Draw(t, "losses")
		var values []byte
		for _, l := range given {
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(l))
		}
		loss := slices.Repeat([]float64{7}, len(given))
		want := slices.IndexFunc(given, func(l float64) bool { return l-l != 0 })
		if want < 0 {
			want = len(given)
		}
		want = want / 4 * 4
		if got := copyFinite(loss, values); got != want {
			t.Fatalf("%d copied, expected %d", got, want)
		}
		for i, l := range loss {
			if i < want && math.Float64bits(l) != math.Float64bits(given[i]) || i >= want && l != 7 {
				t.Fatalf("loss %d of %d: %v", i, len(loss), l)
			}
		}
	})
}
