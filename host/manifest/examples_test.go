package manifest

import (
	"path/filepath"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// The fleet of racks has what its comment says.
func TestExampleRacks(t *testing.T) {
	nodes, err := ReadNodes(filepath.Join("..", "..", "examples", "fleets", "racks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	zones, bare := map[string]map[string]bool{}, 0
	for i := range nodes {
		labels := map[string]string{}
		for _, l := range nodes[i].Labels {
			labels[l.Key] = l.Value
		}
		if labels["rack"] == "" {
			bare++
			continue
		}
		if zones[labels["zone"]] == nil {
			zones[labels["zone"]] = map[string]bool{}
		}
		zones[labels["zone"]][labels["rack"]] = true
	}
	if len(nodes) != 14 || bare != 2 || len(zones) != 2 || len(zones["east"]) != 3 || len(zones["west"]) != 3 {
		t.Errorf("%d nodes, %d without a rack, racks %v; want 14, 2, three in each of two zones", len(nodes), bare, zones)
	}
}

// TestExamples keeps the example files what their comments say they are.
func TestExamples(t *testing.T) {
	nodes, err := ReadNodes(filepath.Join("..", "..", "examples", "fleets", "mixed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := ReadJobs(filepath.Join("..", "..", "examples", "jobs", "two-tenants.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var usable, tainted, largest int32
	models := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		if n.Drained || n.NotReady || n.Devices.Count == 0 {
			continue
		}
		usable += n.Devices.Count
		largest = max(largest, n.Devices.Count)
		models[n.Devices.Model] = true
		if len(n.Taints) > 0 {
			tainted += n.Devices.Count
		}
	}
	if len(nodes) != 60 || usable != 160 || tainted != 48 || len(models) != 3 {
		t.Errorf("%d nodes, %d devices, %d of them tainted, %d models; want 60, 160, 48, 3", len(nodes), usable, tainted, len(models))
	}
	tenants := map[poise.TenantID]int{}
	asked, impossible := int64(0), 0
	for i := range jobs {
		j := &jobs[i]
		tenants[j.Tenant]++
		if j.Request.Device.Count > largest {
			impossible++
			continue
		}
		asked += j.Request.Device.Total()
		if j.Submit > 10*60*1000 || j.RunTime == 0 {
			t.Errorf("%s comes at %d ms and runs for %d ms, want a run time and at most ten minutes", j.Name, j.Submit, j.RunTime)
		}
	}
	if len(jobs) != 399 || len(tenants) != 2 || tenants["research"] != 191 || tenants["web"] != 208 || impossible != 1 {
		t.Errorf("%d jobs of %v, %d impossible; want 399 of two tenants, one impossible", len(jobs), tenants, impossible)
	}
	if ratio := float64(asked) / poise.WholeDevice / float64(usable); ratio < 1.1 || ratio > 1.4 {
		t.Errorf("the jobs ask for %.2f of the devices, want somewhat more than there are", ratio)
	}
}
