package registry

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/abi/conformance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
)

// The test binary is its own child that checks the contract.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "plugin-conform" {
		os.Exit(conformance.RunChild(os.Stdin, os.Stdout, os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestConform(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	conform := func(file string, child ...string) (conformance.Report, error) {
		t.Helper()
		bin, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return Conform(t.Context(), child, bin, policy.Defaults(), nil, 30)
	}
	report, err := conform("../../plugins/bestfit/bestfit.wasm", self, "plugin-conform")
	if err != nil || len(report) == 0 {
		t.Errorf("%v, %v", report, err)
	}
	f := func(file, text string, child ...string) {
		t.Helper()
		if _, err := conform(file, child...); poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, expected %q", file, err, text)
		}
	}
	f("../policy/testdata/hostile/output-nan.wasm", "checks failed: losses", self, "plugin-conform")
	f("../policy/testdata/hostile/table-set.wasm", "verify", self, "plugin-conform")
	f("../../plugins/bestfit/bestfit.wasm", "crashed", "false")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Conform(ctx, []string{self, "plugin-conform"}, nil, policy.Defaults(), nil, 0); err == nil {
		t.Error("a canceled check passes")
	}
}

// Values that are made up are ones that the plugin takes.
func TestTrialParams(t *testing.T) {
	m, err := abi.ParseManifest([]byte(`{"name":"x","version":"1","columns":[],"params":[
		{"name":"a","type":"f64","min":2.5},{"name":"b","type":"i64","max":-1000000},{"name":"c","type":"bool"},{"name":"d","type":"symbol"},
		{"name":"e","type":"enum","values":["p","q"]},{"name":"f","type":"i64","default":7},{"name":"g","type":"f64"},{"name":"h","type":"symbol"},
		{"name":"i","type":"f64","min":0.1,"max":0.2},{"name":"j","type":"i64","min":1000000}]}`))
	if err != nil {
		t.Fatal(err)
	}
	all := TrialParams(m, map[string]string{"h": "given"})
	if _, err := m.Settings(all); err != nil {
		t.Errorf("%v: %v", all, err)
	}
	if _, ok := all["f"]; ok || all["h"] != "given" {
		t.Errorf("%v, expected the default to stay away and the given value to stay", all)
	}
}
