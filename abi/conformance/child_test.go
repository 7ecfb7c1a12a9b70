package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/policy"
)

// A fleet of known size adds the checks of its cost.
func TestSizes(t *testing.T) {
	f := func(fleet int, want ...int) {
		t.Helper()
		if got := sizes(fleet); !slices.Equal(got[len(fuelNodes):], want) {
			t.Errorf("%d: %v, expected %v", fleet, got, want)
		}
	}
	f(0)
	f(30, 30, 300)
	f(100)
	f(20_000, 20_000)
	f(200_000)
}

// An order that is none is a failure of the command line, not of the plugin.
func TestRunChildOrder(t *testing.T) {
	for _, args := range [][]string{nil, {"{"}, {"{}", "{}"}} {
		if code := RunChild(nil, nil, args); code != 2 {
			t.Errorf("%q: exit code %d, expected 2", args, code)
		}
	}
}

// What the plugin is is told in the answer.
func TestConform(t *testing.T) {
	bin, err := os.ReadFile("../../plugins/bestfit/bestfit.wasm")
	if err != nil {
		t.Fatal(err)
	}
	o := &Order{Limits: policy.Defaults(), Time: time.Minute, Fleet: 30}
	report, err := conform(t.Context(), bin, o)
	if err != nil || report.Failed() != 0 || len(report) != len(Names())+2 {
		t.Errorf("%+v, %v", report, err)
	}
	text, err := json.Marshal(Answer{Report: report})
	if err != nil || !bytes.Contains(text, []byte(`"fuel-300"`)) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := conform(t.Context(), []byte("no module"), o); err == nil {
		t.Error("a file that is no module passes")
	}
}
