package sim

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// totals are amounts summed over a fleet or over tasks, in base units.
type totals struct {
	devices int64 // milli-devices of every kind
	cpu     int64 // milli-cores
	memory  int64 // MiB, so that 2^20 nodes of 2^50 bytes fit
}

const mib = 1 << 20

func (t *totals) addNode(n *poise.Node) {
	cpu, _ := n.Capacity.Find("cpu")
	memory, _ := n.Capacity.Find("memory")
	t.devices += int64(n.Devices.Count) * poise.WholeDevice
	t.cpu += cpu
	t.memory += memory / mib
}

func (t *totals) addShape(s *state.Shape, sign int64) {
	cpu, _ := s.Request.Amounts.Find("cpu")
	memory, _ := s.Request.Amounts.Find("memory")
	t.devices += sign * s.Request.Device.Total()
	t.cpu += sign * cpu
	t.memory += sign * (memory / mib)
}

// percent gives 100*part/whole, or 0 where there is nothing of it.
func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
