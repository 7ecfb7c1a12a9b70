package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/poise-sched/poise/abi"
)

// benched measures a plugin on small fleets.
func benched(t *testing.T, file string, params []string) benchResult {
	t.Helper()
	var out, errs bytes.Buffer
	o := pluginBenchOptions{file: file, params: params, output: "json"}
	if err := benchPlugin(Streams{Out: &out, Err: &errs}, &o, []int{100, 500}); err != nil {
		t.Fatal(err)
	}
	var r benchResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The figures hang together, and those of fuel are the same on every run.
func TestBenchFigures(t *testing.T) {
	f := func(file string, params, exports []string, shapes []int) {
		t.Helper()
		r := benched(t, file, params)
		if want := 2 * len(exports) * len(shapes); len(r.Measured) != want || len(r.NotMeasured) > 0 {
			t.Fatalf("%s: %d rows, %d left out, expected %d", file, len(r.Measured), len(r.NotMeasured), want)
		}
		again := benched(t, file, params)
		for i := range r.Measured {
			m, a := &r.Measured[i], &again.Measured[i]
			if m.FuelPerRow != a.FuelPerRow || m.JobBudget != a.JobBudget || m.Candidates != a.Candidates {
				t.Errorf("%s: two runs differ: %+v, %+v", file, m, a)
			}
			if part := float64(m.Candidates) / float64(m.Nodes); part < 0.5 || part > 0.7 {
				t.Errorf("%s: %d of %d nodes are candidates, expected about 60 %%", file, m.Candidates, m.Nodes)
			}
			if !(m.FuelPerRow > 0 && m.JobBudget > 0 && m.JobBudget < 1 && m.CallBudget > 0 && m.CallBudget <= 1 && m.Rounds > 0) {
				t.Errorf("%s: %+v", file, m)
			}
			if !(m.RowsPerSecond > 0 && m.ToNative > 0 && m.LongestCallMs > 0) || math.IsInf(m.RowsPerSecond, 0) {
				t.Errorf("%s: %+v", file, m)
			}
			if want := shapes[i/(2*len(exports))]; m.Shapes != want || m.Export != exports[i%len(exports)] {
				t.Errorf("%s: row %d is %s with %d shapes, expected %s with %d", file, i, m.Export, m.Shapes, exports[i%len(exports)], want)
			}
		}
	}
	f(moody, nil, []string{abi.Score}, []int{0})
	f("../../plugins/binpack/binpack.wasm", nil, []string{abi.Filter, abi.Score}, []int{0})
	f("../../plugins/fgd/fgd.wasm", nil, []string{abi.Score}, []int{53, 192})
}

func TestBenchExitCodes(t *testing.T) {
	f := func(code int, message string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"plugin", "bench"}, args...)...)
		if got != code || !strings.Contains(errs, message) || out != "" {
			t.Errorf("poise plugin bench %s: exit %d, %q, %q; expected exit %d and %q", strings.Join(args, " "), got, out, errs, code, message)
		}
	}
	f(2, "0 files, expected one")
	f(2, `--output "csv"`, moody, "-o", "csv")
	f(2, "mood: \"sad\"", moody, "--param", "mood=sad")
	f(3, "none.wasm", "none.wasm")
	f(4, "fuel: more than", moody, "--param", "mood=fuel")
	f(1, "trap: unreachable", moody, "--param", "mood=trap")
	f(1, "verify", talk) // prints, and a fleet is no author's terminal
}

func TestBenchTable(t *testing.T) {
	r := benchResult{
		Plugin: "p", Version: "1.0.0", Digest: "sha256:00", LoadMs: 1.25,
		Measured: []benchRow{
			{Nodes: 100, Candidates: 60, Export: abi.Filter, Rounds: 9, RowsPerSecond: 1e6, FuelPerRow: 12.6, JobBudget: 0.01, CallBudget: 0.2, LongestCallMs: 0.5, ToNative: 0.25},
			{Nodes: 100, Candidates: 60, Shapes: 53, Export: abi.Score, Rounds: 9, RowsPerSecond: 1e6, FuelPerRow: 12.6, JobBudget: 0.01, CallBudget: 0.2, LongestCallMs: 0.5, ToNative: 0.25},
		},
		NotMeasured: []benchSkipped{{Nodes: 50_000, Shapes: 192, PassSeconds: 12.34}},
	}
	var out bytes.Buffer
	if err := r.table(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench_table", out.String())
}
