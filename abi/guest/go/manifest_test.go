package poise_test

import (
	"encoding/json"
	"testing"

	"github.com/poise-sched/poise/abi"
	poise "github.com/poise-sched/poise/abi/guest/go"
	"pgregory.net/rapid"
)

func TestManifest(t *testing.T) {
	f := func(p *poise.Plugin, want string) {
		t.Helper()
		if got := string(p.Manifest()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		parsed(t, p)
	}
	f(poise.New("x", "1.0.0"), `{"name":"x","version":"1.0.0","columns":[]}`)
	p := poise.New("x", "1.0.0").Describe("d").RowPure().ChoosesDevices().LossRange(-0.5, 1e21).TieSeeded()
	p.Label("zone")
	p.Allocated("cpu")
	p.Capacity("cpu")
	p.Capacity("cpu")
	p.F64("f")
	f(p, `{"name":"x","version":"1.0.0","description":"d","columns":["allocated:cpu","capacity:cpu"],"labels":["zone"],`+
		`"params":[{"name":"f","type":"f64"}],"row_pure":true,"chooses_devices":true,"loss_range":[-0.5,1e+21],"tie":"seeded"}`)
	m := parsed(t, declare().plugin)
	settings, err := m.Settings(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := settings[3], (abi.Setting{Symbol: `a "quoted" \ text`, IsSymbol: true}); got != want {
		t.Errorf("default of the symbol: got %+v, want %+v", got, want)
	}
	if text, _ := m.Reason(2); text != `too far, "really"` {
		t.Errorf("reason 2: got %q", text)
	}
}

// Any text comes out of the JSON as it went in.
func TestManifestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "description")
		var got struct{ Description string }
		if err := json.Unmarshal(poise.New("x", "1").Describe(want).Manifest(), &got); err != nil {
			t.Fatal(err)
		}
		equal(t, "description", got.Description, want)
	})
}
