package poise

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestSelectorValidate(t *testing.T) {
	f := func(want, key string, op Op, values ...string) {
		t.Helper()
		s := Selector{Key: key, Op: op, Values: values}
		refuses(t, s.Validate(), want)
	}
	for _, op := range []Op{In, NotIn} {
		f("", "zone", op, "a")
		f("", "zone", op, "a", "", "a")
		f(fmt.Sprintf("selector: zone %s: no values, expected at least one", op), "zone", op)
	}
	for _, op := range []Op{Exists, DoesNotExist} {
		f("", "zone", op)
		f(fmt.Sprintf("selector: zone %s: 2 values, expected none", op), "zone", op, "a", "b")
	}
	for _, op := range []Op{Gt, Lt} {
		f("", "gen", op, "7")
		f("", "gen", op, "-9223372036854775808")
		f(fmt.Sprintf("selector: gen %s: 0 values, expected one integer", op), "gen", op)
		f(fmt.Sprintf("selector: gen %s: 2 values, expected one integer", op), "gen", op, "1", "2")
		for _, v := range []string{"", "x", "1.5", " 1", "1e3", "0x1", "9223372036854775808"} {
			f(fmt.Sprintf("selector: gen %s: value %q, expected an integer", op, v), "gen", op, v)
		}
	}
	f("selector: key: empty, expected a label key", "", Exists)
	for _, op := range []Op{"", "in", "Equals"} {
		f(fmt.Sprintf("selector: zone: operator %q, expected In, NotIn, Exists, DoesNotExist, Gt, Lt or Prefix", op), "zone", op, "a")
	}
}

func TestSelectorMatches(t *testing.T) {
	labels := []Label{
		{"empty", ""},
		{"gen", "7"},
		{"max", "9223372036854775807"},
		{"min", "-9223372036854775808"},
		{"over", "9223372036854775808"},
		{"version", "1.5"},
		{"zone", "a"},
	}
	f := func(want bool, key string, op Op, values ...string) {
		t.Helper()
		s := Selector{Key: key, Op: op, Values: values}
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if got := s.Matches(labels); got != want {
			t.Errorf("%s %s %q matches: %v, expected %v", key, op, values, got, want)
		}
	}
	f(true, "zone", In, "a")
	f(true, "zone", In, "b", "a")
	f(false, "zone", In, "b")
	f(false, "zone", In, "A")
	f(false, "zone", In, "")
	f(true, "empty", In, "")
	f(false, "absent", In, "") // absent is not empty

	f(true, "max", Prefix, "92233")
	f(true, "zone", Prefix, "b", "a")
	f(true, "zone", Prefix, "")
	f(false, "zone", Prefix, "ab")
	f(false, "zone", Prefix, "A")
	f(false, "absent", Prefix, "")

	f(false, "zone", NotIn, "a")
	f(false, "zone", NotIn, "b", "a")
	f(true, "zone", NotIn, "b")
	f(true, "absent", NotIn, "a")
	f(true, "absent", NotIn, "")

	f(true, "zone", Exists)
	f(true, "empty", Exists)
	f(false, "absent", Exists)
	f(false, "Zone", Exists)

	f(false, "zone", DoesNotExist)
	f(false, "empty", DoesNotExist)
	f(true, "absent", DoesNotExist)

	f(true, "gen", Gt, "6")
	f(false, "gen", Gt, "7")
	f(true, "gen", Lt, "8")
	f(false, "gen", Lt, "7")
	f(true, "gen", Lt, "10") // as numbers, not as text
	f(true, "gen", Gt, "-10")
	for _, op := range []Op{Gt, Lt} {
		for _, key := range []string{"absent", "empty", "zone", "version", "over"} {
			f(false, key, op, "0")
		}
	}
	f(true, "max", Gt, "9223372036854775806")
	f(false, "max", Gt, "9223372036854775807")
	f(true, "max", Gt, "-9223372036854775808") // a difference would not fit in 64 bits
	f(true, "min", Lt, "9223372036854775807")
	f(true, "min", Lt, "-9223372036854775807")
	f(false, "min", Lt, "-9223372036854775808")
}

func TestSelectorWithAnUnknownOpMatchesNothing(t *testing.T) {
	s := Selector{Key: "zone", Op: "Near"}
	if s.Matches([]Label{{"zone", "a"}}) || s.Matches(nil) {
		t.Error("matches")
	}
}

// NotIn is what In is not, DoesNotExist what Exists is not, and of Gt and Lt
// one matches exactly where the label is another integer.
func TestSelectorOpsAreOpposites(t *testing.T) {
	integer := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
	rapid.Check(t, func(t *rapid.T) {
		have, want := integer.Draw(t, "have"), strconv.FormatInt(integer.Draw(t, "want"), 10)
		text := rapid.SampledFrom([]string{strconv.FormatInt(have, 10), "x", ""}).Draw(t, "text")
		labels := rapid.SampledFrom([][]Label{nil, {{"k", text}}}).Draw(t, "labels")
		f := func(op Op, values ...string) bool {
			s := Selector{Key: "k", Op: op, Values: values}
			return s.Matches(labels)
		}
		if f(In, want) == f(NotIn, want) || f(Exists) == f(DoesNotExist) {
			t.Fatalf("an operator and its opposite agree on %v", labels)
		}
		_, err := strconv.ParseInt(text, 10, 64)
		if got := f(Gt, want) || f(Lt, want); got != (len(labels) > 0 && err == nil && text != want) || f(Gt, want) && f(Lt, want) {
			t.Fatalf("%v: Gt %s is %v, Lt %v", labels, want, f(Gt, want), f(Lt, want))
		}
	})
}
