package balance

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

const mib = 1 << 20

// nodeState is all that the balance degrees of form Demand depend on: what is
// idle on a node. Devices that are not free at all are left out and the partly
// free ones are sorted, so that nodes in one state have one memo key.
type nodeState struct {
	cpu    int64 // idle milli-cores
	memory int64 // idle MiB, rounded down
	kind   uint16
	model  uint16
	whole  uint8 // F: devices that are free as a whole
	parts  uint8 // how many of part are in use
	part   [poise.MaxDevices]uint16
}

func readState(snap *state.Snapshot, row uint32) nodeState {
	s := nodeState{
		cpu: snap.Idle(row, 0), memory: snap.Idle(row, 1) / mib,
		kind: snap.Kind(row), model: snap.Model(row),
	}
	for _, free := range snap.Free(row) {
		s.addDevice(free)
	}
	return s
}

// addDevice puts a device with so much free into its place.
func (s *nodeState) addDevice(free uint16) {
	switch free {
	case 0:
	case poise.WholeDevice:
		s.whole++
	default:
		i := int(s.parts)
		for ; i > 0 && s.part[i-1] > free; i-- {
			s.part[i] = s.part[i-1]
		}
		s.part[i] = free
		s.parts++
	}
}

// takePart takes milli from a device with so much free.
func (s *nodeState) takePart(free, milli uint16) {
	if free == poise.WholeDevice {
		s.whole--
	} else {
		i := 0
		for s.part[i] != free {
			i++
		}
		copy(s.part[i:s.parts], s.part[i+1:s.parts])
		s.parts--
	}
	s.addDevice(free - milli)
}

// idleMilli is the sum of the free milli-devices.
func (s *nodeState) idleMilli() int64 {
	sum := int64(s.whole) * poise.WholeDevice
	for _, p := range s.part[:s.parts] {
		sum += int64(p)
	}
	return sum
}
