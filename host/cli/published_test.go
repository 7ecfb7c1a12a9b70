package cli

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/sim"
)

const (
	openbTraces = "../../../shared/traces/openb"
	openbGolden = "../../../shared/golden/openb/published_final_allocation.csv"
)

// published gives the final allocation of a workload by published policy name
// and seed.
func published(t *testing.T, workload string) map[string]map[int64]float64 {
	t.Helper()
	f, err := os.Open(openbGolden)
	if err != nil {
		t.Skipf("the published results are not here: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[int64]float64{}
	for _, row := range rows[1:] {
		if row[0] != workload {
			continue
		}
		all[row[1]] = map[int64]float64{}
		for i, column := range rows[0] {
			if seed, ok := strings.CutPrefix(column, "seed"); ok {
				n, err := strconv.ParseInt(seed, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if all[row[1]][n], err = strconv.ParseFloat(row[i], 64); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return all
}

// The first-party plugins of published policies decide as the native policies
// do, job by job, and reach the published allocation.
func TestPluginsEqualThePublishedPolicies(t *testing.T) {
	nodes := filepath.Join(openbTraces, "openb_node_list_gpu_node.csv.gz")
	if _, err := os.Stat(nodes); err != nil {
		t.Skipf("the openb traces are not here: %v", err)
	}
	f := func(workload, plugin, native, name, seeds string) {
		t.Helper()
		if (testing.Short() || raced) && workload != "default" {
			return
		}
		t.Run(workload+"/"+plugin, func(t *testing.T) {
			module := filepath.Join("../../plugins", plugin, plugin+".wasm")
			if _, err := os.Stat(module); err != nil {
				t.Skipf("the plugin is not here: %v", err)
			}
			want := published(t, workload)[name]
			jobs := filepath.Join(openbTraces, "openb_pod_list_"+workload+".csv.gz")
			out, errs, code := runPoise("sim", "compare", "--nodes", nodes, "--jobs", jobs, "--policy", native+","+module,
				"--seeds", seeds, "--profile", "workload", "--model=false", "-o", "json")
			if code != 0 {
				t.Fatalf("exit %d: %s", code, errs)
			}
			var results []sim.Result
			if err := json.Unmarshal([]byte(out), &results); err != nil {
				t.Fatal(err)
			}
			half := len(results) / 2
			if half == 0 || len(want) != 10 {
				t.Fatalf("%d results, %d published seeds", len(results), len(want))
			}
			for i := range half {
				n, p := &results[i], &results[half+i]
				if n.Seed != p.Seed || n.Digest != p.Digest {
					t.Errorf("seed %d: digest %s of %s, expected %s of %s", p.Seed, p.Digest, p.Policy, n.Digest, n.Policy)
				}
				if got := p.AllocAt["130"]; !(math.Abs(got-want[p.Seed]) <= 0.01) {
					t.Errorf("seed %d: allocation %v, published %v", p.Seed, got, want[p.Seed])
				}
			}
		})
	}
	seeds := "42-44"
	if raced {
		seeds = "42"
	}
	for _, workload := range []string{"default", "cpu250", "multigpu50"} {
		f(workload, "dotproduct", "dot-product", "DotProd", seeds)
		f(workload, "bestfit", "best-fit", "BestFit", seeds)
		f(workload, "fgd", "fgd", "FGD", seeds)
	}
	f("gpuspec33", "fgd", "fgd", "FGD", "42") // every third job names its models
}
