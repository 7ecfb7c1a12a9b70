package conformance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poise-sched/poise/abi"
)

// The first-party plugins together use every column and every feature of the
// contract, so that what is documented is also tried.
func TestPluginsUseTheWholeContract(t *testing.T) {
	if raced {
		t.Skip("stock Go: compiling it takes 20 s under the race detector; without it this test runs")
	}
	files, err := filepath.Glob("../../plugins/*/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatalf("plugins/*/*.wasm: %d files, %v", len(files), err)
	}
	e := newEngines(t)
	used := map[any]bool{}
	for _, file := range files {
		bin, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.native.Load(context.Background(), bin)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range m.Manifest.AllColumns() {
			used[c.Kind] = true
		}
		for _, f := range m.Manifest.JobFields {
			used[f] = true
		}
		for _, p := range m.Manifest.Params {
			used[p.Type] = true
		}
		for _, x := range m.Info.Exports {
			used["export "+x.Name] = true
		}
		for feature, on := range map[string]bool{
			"domains": len(m.Manifest.Domains) > 0, "reasons": len(m.Manifest.Reasons) > 0, "row_pure": m.Manifest.RowPure,
			"not row_pure": !m.Manifest.RowPure, "chooses_devices": m.Manifest.ChoosesDevices, "wants_profile": m.Manifest.WantsProfile,
			"loss_range": len(m.Manifest.LossRange) == 2, "tie": m.Manifest.Tie == "seeded",
		} {
			used[feature] = used[feature] || on
		}
	}
	want := []any{
		abi.Capacity, abi.Allocated, abi.Class, abi.Label, abi.Taints, abi.Selectors, abi.Devices, abi.DeviceModel, abi.RunningTasks,
		abi.TenantTasks, abi.JobTasks, abi.Age,
		abi.FieldPriority, abi.FieldTasks, abi.FieldTaskIndex, abi.FieldTenant, abi.FieldRunTime, abi.FieldSeed,
		abi.ParamF64, abi.ParamI64, abi.ParamBool, abi.ParamSymbol, abi.ParamEnum,
		"export " + abi.Filter, "export " + abi.Score, "export " + abi.Initialize,
		"domains", "reasons", "row_pure", "not row_pure", "chooses_devices", "wants_profile", "loss_range", "tie",
	}
	for _, feature := range want {
		if !used[feature] {
			t.Errorf("%v: no plugin uses it", feature)
		}
	}
	if kinds := slices.DeleteFunc(want, func(f any) bool { _, ok := f.(abi.Kind); return !ok }); len(kinds) != int(abi.Age) {
		t.Errorf("%d kinds of column are looked for, the contract has %d", len(kinds), abi.Age)
	}
}
