package baseline

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/sim"
)

// The five policies whose published runs can be repeated give the published
// allocation, digit for digit: here one seed of the workload with the most
// typical tasks, since it has device models too.
func TestPublishedAllocation(t *testing.T) {
	if testing.Short() {
		t.Skip("runs five experiments")
	}
	const workload, seed = "gpuspec33", 42
	nodes, jobs, requests := publishedFleet(t), publishedJobs(t, workload), traceRequests(t, workload)
	want := publishedValues(t, workload, seed)
	for _, c := range [][2]string{
		{"best-fit", "BestFit"}, {"dot-product", "DotProd"}, {"gpu-packing", "GpuPacking"}, {"gpu-clustering", "GpuClustering"}, {"fgd", "FGD"},
	} {
		p, err := New(c[0], requests)
		if err != nil {
			t.Fatal(err)
		}
		p.Ties = sched.Published
		list, err := sim.Inflate(nodes, jobs, 1.3, seed)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.RunInflate(sim.Config{Policy: p, Params: balance.Params{}}, nodes, list)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AllocAt["130"]; got != want[c[1]] {
			t.Errorf("%s: allocation %v %%, published %v %%", c[0], got, want[c[1]])
		}
	}
}

func publishedFleet(t *testing.T) []poise.Node {
	t.Helper()
	records := readCSV(t, filepath.Join("..", "..", "..", "..", "shared", "traces", "openb", "openb_node_list_gpu_node.csv.gz"))
	nodes := make([]poise.Node, len(records))
	for i, r := range records {
		nodes[i] = poise.Node{
			Name: r[0], Capacity: amounts(number(t, r[1]), number(t, r[2])*mib),
			Devices: poise.Devices{Kind: "gpu", Model: r[4], Count: int32(number(t, r[3]))},
		}
	}
	return nodes
}

func publishedJobs(t *testing.T, workload string) []sim.Arrival {
	t.Helper()
	requests, records := traceRequests(t, workload), traceRecords(t, workload)
	jobs := make([]sim.Arrival, len(records))
	for i, r := range records {
		j := poise.Job{ID: poise.JobID(r[0]), Name: r[0], Tenant: "t", Tasks: 1, Request: requests[i]}
		j.Request.Amounts = amounts(number(t, r[1]), number(t, r[2])*mib)
		models := slices.Sorted(slices.Values(j.Request.Device.Models))
		j.Request.Device.Models = slices.Compact(models)
		jobs[i] = sim.Arrival{Job: j}
	}
	return jobs
}

// publishedValues gives the published allocation in percent by policy.
func publishedValues(t *testing.T, workload string, seed int) map[string]float64 {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "shared", "golden", "openb", "published_final_allocation.csv")
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("no published values at %s", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(records[0], "seed"+strconv.Itoa(seed))
	values := map[string]float64{}
	for _, r := range records {
		if r[0] != workload {
			continue
		}
		if values[r[1]], err = strconv.ParseFloat(r[column], 64); err != nil {
			t.Fatal(err)
		}
	}
	return values
}
