package poise

import (
	"testing"

	"pgregory.net/rapid"
)

func TestReasonPacking(t *testing.T) {
	if NewReason(Fits, 0) != 0 {
		t.Error("a row that fits has a reason")
	}
	rapid.Check(t, func(t *rapid.T) {
		code := ReasonCode(rapid.IntRange(0, int(ReasonCodes)-1).Draw(t, "code"))
		dim := rapid.OneOf(rapid.IntRange(0, Undeclared), rapid.SampledFrom([]int{0, 1, 255, 256, Undeclared - 1, Undeclared})).Draw(t, "dim")
		r := NewReason(code, dim)
		if r.Code() != code || r.Dim() != dim {
			t.Fatalf("%s in %d came back as %s in %d", code, dim, r.Code(), r.Dim())
		}
	})
}

// The codes come in the order in which rows are tested: what lasts stands
// before what passes.
func TestReasonCodes(t *testing.T) {
	seen := map[string]bool{}
	passing := false
	for c := Fits + 1; c < ReasonCodes; c++ {
		if text := c.String(); text == "" || seen[text] {
			t.Errorf("code %d reads %q, expected a text of its own", c, text)
		}
		seen[c.String()] = true
		if passing && c.Lasting() && c < PoolOverQuota { // from there on they are of bars, which come last
			t.Errorf("%s lasts and stands behind one that passes", c)
		}
		passing = !c.Lasting()
	}
	f := func(c ReasonCode, text string, lasting bool) {
		t.Helper()
		if c.String() != text || c.Lasting() != lasting {
			t.Errorf("%q lasts: %v, expected %q %v", c, c.Lasting(), text, lasting)
		}
	}
	f(Fits, "fits", false)
	f(SelectorMismatch, "selector does not match", true)
	f(CapacityShort, "node too small", true)
	f(DeviceCapacityShort, "too few devices", true)
	f(NodeNotReady, "not ready", false)
	f(NodeDrained, "drained", false)
	f(IdleShort, "not enough idle", false)
	f(DeviceIdleShort, "not enough idle devices", false)
	f(Reserved, "kept for jobs before it", false)
}

func TestVerdicts(t *testing.T) {
	f := func(v Verdict, text string) {
		t.Helper()
		if v.String() != text {
			t.Errorf("%q, expected %q", v, text)
		}
	}
	f(Placed, "placed")
	f(FitsNotNow, "fits, but not now")
	f(NeverFits, "never fits the present nodes")
	f(OverQuota, "over quota")
	f(BehindOthers, "behind others")
}
