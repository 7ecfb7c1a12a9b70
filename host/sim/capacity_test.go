package sim

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// B9: amounts that fit a node but not a fleet are refused with the node named,
// not wrapped into negative percentages.
func TestFleetTotals(t *testing.T) {
	node := func(name string, cpu, memory int64) poise.Node {
		return poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}, Devices: poise.Devices{Kind: "gpu", Count: 2}}
	}
	f := func(want string, nodes ...poise.Node) {
		t.Helper()
		sum, err := fleetTotals(nodes)
		switch {
		case want == "" && (err != nil || sum[devicesDim] != int64(len(nodes))*2000):
			t.Errorf("sum %v, %v", sum, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	f("", node("a", 1000, 7<<60))
	f("", node("a", 1<<62, 1), node("b", 1<<62-1, 1<<60))
	f(`node "b": capacity: memory: the sum over the fleet`, node("a", 1000, 7<<60), node("b", 1000, 7<<60))
	f(`node "b": capacity: cpu: the sum over the fleet`, node("a", 1<<62, 1), node("b", 1<<62, 1))
}
