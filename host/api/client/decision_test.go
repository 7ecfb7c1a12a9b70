package client

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// A decision is the same behind the wire, whatever stands in it.
func TestDecisionRoundTrip(t *testing.T) {
	finite := rapid.Float64().Filter(func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) })
	decisions := rapid.MakeCustom[poise.Decision](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[poise.Verdict]():    rapid.SampledFrom([]poise.Verdict{poise.Placed, poise.FitsNotNow, poise.NeverFits, poise.OverQuota, poise.BehindOthers}).AsAny(),
		reflect.TypeFor[poise.ReasonCode](): rapid.Map(rapid.Uint8Range(0, uint8(poise.ReasonCodes)-1), func(c uint8) poise.ReasonCode { return poise.ReasonCode(c) }).AsAny(),
		reflect.TypeFor[float64]():          finite.AsAny(),
		reflect.TypeFor[poise.Time]():       rapid.Map(rapid.Int64Range(0, 1<<45), func(ms int64) poise.Time { return poise.Time(ms) }).AsAny(),
	}})
	rapid.Check(t, func(t *rapid.T) {
		want := decisions.Draw(t, "decision")
		text, err := json.Marshal(NewDecision(&want))
		if err != nil {
			t.Fatal(err)
		}
		var wire Decision
		if err := json.Unmarshal(text, &wire); err != nil {
			t.Fatal(err)
		}
		got, err := wire.Poise()
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(NewDecision(got))
		if err != nil {
			t.Fatal(err)
		}
		// JSON does not tell an empty list from none, which means the same here.
		if string(again) != string(text) || len(got.Ranked) != len(want.Ranked) || got.Seed != want.Seed || got.Fault != want.Fault {
			t.Fatalf("%s\nbecame\n%s", text, again)
		}
	})
}

// All that a decision has goes over the wire.
func TestDecisionFields(t *testing.T) {
	want := poise.Decision{
		Job: "j", Verdict: poise.NeverFits, Node: "n", Devices: []uint16{1, 3}, Now: 7, Policy: "p", Ties: "name", Seed: 1, Version: 2, Epoch: 3, Nodes: 4, Fitting: 5,
		Plugins: []poise.PluginUse{{Name: "a", Digest: "b", Calls: 1, Rows: 2, Fuel: 3}}, Fault: "f", Looked: 6,
		Reasons:  []poise.Reason{poise.NewReason(poise.IdleShort, 2)},
		Refused:  []poise.ReasonCount{{Code: poise.PolicyRefused, Dim: "d", Text: "t", Nodes: 1}},
		LeftOut:  []poise.LeftOut{{Class: "c", Code: poise.CapacityShort, Dim: "cpu", Nodes: 2}},
		Nearest:  &poise.Miss{Node: "n", Code: poise.DeviceIdleShort, Dim: "gpu", Text: "x", Ask: 3, Have: 2, Beyond: 1},
		Misses:   []poise.Miss{{Node: "m", Code: poise.IdleShort, Dim: "cpu", Ask: 5, Have: 3, Beyond: 2}},
		Helps:    []poise.Help{{Code: poise.IdleShort, Dim: "cpu", What: "w", Beyond: 2, Node: "m", Nodes: 3}},
		Ranked:   []poise.Ranked{{Node: "n", Tier: 1, Loss: 0.5, Devices: []uint16{0}, Formula: "spread", Columns: []poise.Column{{Name: "cpu", Factor: 1, Weight: 2, Before: 3, After: 4, M1: 5, M2: 6}}, Seen: []poise.Reading{{Name: "a", Text: "b"}}}},
		Refusals: []poise.Refusal{{Node: "n", Code: poise.NodeDrained, Dim: "d", Text: "t"}},
		Gang:     &poise.GangPart{ID: "g", Index: 1, Size: 4, Min: 3, Fitted: 2, Topology: "pack by rack", Domain: "r1"},
		Quota:    &poise.QuotaMiss{Tenant: "t", Resource: "cpu", Used: 1, Ask: 2, Limit: 3, Withheld: 4},
	}
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s: not set here, so not tested", v.Type().Field(i).Name)
		}
	}
	got, err := NewDecision(&want).Poise()
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %v, expected %+v", got, err, want)
	}
}

// A later daemon may know more than this program: it says so and guesses nothing.
func TestLaterDecision(t *testing.T) {
	f := func(d Decision) {
		t.Helper()
		if _, err := d.Poise(); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
	f(Decision{Verdict: "postponed"})
	f(Decision{Verdict: "placed", Refused: []ReasonCount{{Code: "too-cold"}}})
	f(Decision{Verdict: "placed", Nearest: &Miss{Code: ""}})
	if names := reasons[:]; slices.Contains(names, "") {
		t.Errorf("a reason without a name: %q", names)
	}
}

func TestQuantity(t *testing.T) {
	f := func(text string, want Quantity) {
		t.Helper()
		var q Quantity
		err := json.Unmarshal([]byte(text), &q)
		if (err == nil) != (want != "") || q != want {
			t.Errorf("%s: %q, %v, expected %q", text, q, err, want)
		}
	}
	f(`"500m"`, "500m")
	f(`4`, "4")
	f(`9007199254740993`, "9007199254740993") // more than a float holds
	f(`0.1`, "0.1")
	f(`1e3`, "1e3")
	f(`true`, "")
	f(`{}`, "")
	f(`[]`, "")
}
