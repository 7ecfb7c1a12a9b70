package manifest

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// trace gives the path of a published file, and skips where it is absent.
func trace(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "traces", "openb", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: the published trace is not beside the repository", path)
	}
	return path
}

func TestOpenbNodes(t *testing.T) {
	f := func(name string, rows, devices int) {
		t.Helper()
		nodes, err := ReadNodes(trace(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var sum int
		var cpu int64
		for i := range nodes {
			sum += int(nodes[i].Devices.Count)
			n, _ := nodes[i].Capacity.Find("cpu")
			cpu += n
		}
		if len(nodes) != rows || sum != devices {
			t.Errorf("%s: %d nodes with %d devices, want %d with %d", name, len(nodes), sum, rows, devices)
		}
		if rows == 1213 && cpu != 107_018_000 {
			t.Errorf("%s: %d milli-cores, want 107018 cores", name, cpu)
		}
	}
	f("openb_node_list_gpu_node.csv.gz", 1213, 6212)
	f("openb_node_list_all_node.csv.gz", 1523, 6212)
}

func TestOpenbJobs(t *testing.T) {
	// demand is in devices, to a tenth; 0 where the trace's description gives
	// none. timed says whether the file has the columns after the first five.
	f := func(workload string, rows int, demand float64, timed bool) {
		t.Helper()
		jobs, err := ReadJobs(trace(t, "openb_pod_list_"+workload+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		var milli int64
		untimed := 0
		for i := range jobs {
			milli += jobs[i].Request.Device.Total()
			if jobs[i].RunTime == 0 {
				untimed++
			}
		}
		if len(jobs) != rows {
			t.Errorf("%s: %d jobs, want %d", workload, len(jobs), rows)
		}
		if got := math.Round(float64(milli)/100) / 10; demand != 0 && got != demand {
			t.Errorf("%s: %v devices asked for, want %v", workload, got, demand)
		}
		if timed && untimed != 0 || !timed && untimed != rows {
			t.Errorf("%s: %d jobs of %d without a run time", workload, untimed, rows)
		}
	}
	f("default", 8152, 6086.8, true)
	f("gpushare20", 8152, 6531.5, true)
	f("gpushare40", 8152, 0, true)
	f("gpushare60", 8152, 0, true)
	f("gpushare80", 8152, 0, true)
	f("gpushare100", 8152, 3952.7, true)
	f("multigpu20", 8324, 7086.8, false)
	f("multigpu30", 8508, 0, false)
	f("multigpu40", 8746, 0, false)
	f("multigpu50", 9061, 11358.8, false)
	f("cpu0", 7064, 6086.8, true)
	f("cpu037", 7336, 6086.8, true)
	f("cpu050", 7439, 6086.8, true)
	f("cpu072", 7608, 6086.8, true)
	f("cpu100", 7853, 6086.8, true)
	f("cpu200", 8832, 6086.8, true)
	f("cpu235", 9240, 6086.8, true)
	f("cpu250", 9420, 6086.8, true)
	f("cpu300", 10094, 6086.8, true)
	f("gpuspec05", 8152, 6086.8, true)
	f("gpuspec10", 8152, 6086.8, true)
	f("gpuspec20", 8152, 6086.8, true)
	f("gpuspec25", 8152, 6086.8, true)
	f("gpuspec33", 8152, 6086.8, true)
}

// TestOpenbModelText: the same models written in two ways are one constraint,
// but two kinds of job to the published baseline.
func TestOpenbModelText(t *testing.T) {
	jobs, err := ReadJobs(trace(t, "openb_pod_list_gpuspec33.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]int{}
	for i := range jobs {
		if m := jobs[i].Request.Device.Models; len(m) == 2 && m[0] == "V100M16" && m[1] == "V100M32" {
			texts[jobs[i].ModelText]++
		}
	}
	if len(texts) != 2 || texts["V100M16|V100M32"] == 0 || texts["V100M16|V100M32|V100M32"] == 0 {
		t.Errorf("%v", texts)
	}
}

// TestOpenbTimes: the run starts when the job was scheduled, three seconds
// after it came.
func TestOpenbTimes(t *testing.T) {
	jobs, err := ReadJobs(trace(t, "openb_pod_list_default.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	j := &jobs[15]
	if j.Name != "openb-pod-0015" || j.Submit != 8_396_307_000 || j.RunTime != 4_506_650_000 {
		t.Errorf("%+v", j)
	}
	memory, _ := j.Request.Amounts.Find("memory")
	if d := j.Request.Device; memory != 48<<30 || d.Kind != "gpu" || d.Count != 1 || d.Milli != poise.WholeDevice || j.ModelText != "" {
		t.Errorf("%+v", j)
	}
}
