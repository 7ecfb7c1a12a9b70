package policy

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

var _ sched.Shower = (*Guest)(nil)

// A person reads what the guest gets, absent values included.
func TestShow(t *testing.T) {
	g := guestOf(t, "echo", nil)
	w := newWorld(t)
	w.apply(g.Symbols())
	w.apply(poise.NodeJoined{Node: poise.Node{
		Name: "a", Capacity: resource.List{{Name: "cpu", Value: 64000}}, Labels: []poise.Label{{Key: "zone", Value: "east"}},
		Devices: poise.Devices{Kind: "gpu", Model: "T4", Count: 2}, Taints: []poise.Taint{{Key: "k", Effect: poise.NoSchedule}},
	}})
	w.apply(poise.NodeJoined{Node: poise.Node{Name: "b", Capacity: resource.List{{Name: "cpu", Value: 1500}}}})
	held := w.submit("red", request(500, 1, 250), nil)
	w.apply(poise.JobPlaced{Placement: poise.Placement{Job: held.ID, Node: "a", Devices: []uint16{1}}})
	job := w.submit("red", request(1000, 0, 0), func(j *poise.Job) {
		j.Selectors = []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"east"}}}
	})
	g.Prepare(w.state.View(), job)
	f := func(row uint32, name, want string) {
		t.Helper()
		for _, r := range g.Show(row) {
			if r.Name == name {
				if r.Text != want {
					t.Errorf("row %d, %s: %q, expected %q", row, name, r.Text, want)
				}
				return
			}
		}
		t.Errorf("row %d: no %s in %s", row, name, fmt.Sprint(g.Show(row)))
	}
	f(0, "capacity:cpu", "64")
	f(0, "allocated:cpu", "500m")
	f(0, "label zone", "east")
	f(0, "taints", "0b101")
	f(0, "selectors", "0b1")
	f(0, "devices", "1000,750")
	f(0, "device_model", "T4")
	f(0, "running_tasks", "1")
	f(0, "tenant_tasks", "1")
	f(0, "job_tasks", "0")
	f(0, "domain zone", "east")
	f(0, "domain zone nodes", "1")
	f(0, "domain zone tenant_tasks", "1")
	f(0, "domain zone allocated:cpu", "500m")
	f(1, "capacity:cpu", "1.5")
	f(1, "label zone", "")
	f(1, "selectors", "0b0")
	f(1, "devices", "")
	f(1, "domain zone nodes", "")
}
