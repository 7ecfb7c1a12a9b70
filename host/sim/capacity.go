package sim

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// devicesDim is the dimension, behind cpu and memory, in which sums over a
// fleet or over tasks count milli-devices of every kind.
const devicesDim = resource.Memory + 1

const mib = 1 << 20

// fleetTotals sums the capacities of the nodes. A sum that does not fit in an
// int64 is an error: every figure of a run is a part of these.
func fleetTotals(nodes []poise.Node) (resource.Vector, error) {
	sum := newTotals()
	for i := range nodes {
		n := &nodes[i]
		if dim, ok := sum.Add(totalsOf(n.Capacity, int64(n.Devices.Count)*poise.WholeDevice)); !ok {
			name := [...]string{"cpu", "memory", "devices"}[dim]
			return nil, &poise.Error{
				Kind: poise.Invalid, Op: fmt.Sprintf("node %q", n.Name),
				Detail: fmt.Sprintf("capacity: %s: the sum over the fleet exceeds 2^63-1 base units, expected less", name),
			}
		}
	}
	return sum, nil
}

func newTotals() resource.Vector { return make(resource.Vector, devicesDim+1) }

func totalsOf(amounts resource.List, devices int64) resource.Vector {
	cpu, _ := amounts.Find("cpu")
	memory, _ := amounts.Find("memory")
	return resource.Vector{resource.CPU: cpu, resource.Memory: memory, devicesDim: devices}
}

// requestOf is what a job of the shape asks for.
func requestOf(s *state.Shape) resource.Vector {
	return totalsOf(s.Request.Amounts, s.Request.Device.Total())
}

// percent gives 100*part/whole, or 0 where there is nothing of it.
func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
