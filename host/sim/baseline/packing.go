package baseline

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// gpuPacking is the policy GpuPacking of Weng et al. (USENIX ATC 2023): first
// devices in use, then free devices of nodes in use, then untouched nodes. Of D
// devices, E are free as a whole; the job takes k devices, the least free that
// are enough, z of them free as a whole. All divisions round down:
//
//	score = 0                              no devices requested
//	      = max(33 - E, E)                 E = D
//	      = max(50 - z, 33)                z > 0
//	      = max(100 - (f/10)/10, 50)       a share of a device with f milli free
//
// A request is for whole devices, z = k, or for a share of one, so nothing
// needs to be sorted.
func gpuPacking(snap *state.Snapshot, row uint32, a *ask) float64 {
	if a.device.Count == 0 {
		return 0
	}
	free := snap.Free(row)
	whole := 0
	least := uint16(poise.WholeDevice)
	for _, f := range free {
		if f == poise.WholeDevice {
			whole++
		}
		if int32(f) >= a.device.Milli {
			least = min(least, f)
		}
	}
	switch {
	case whole == len(free):
		return float64(max(33-whole, whole))
	case least == poise.WholeDevice:
		return float64(max(50-a.device.Count, 33))
	}
	return float64(max(100-least/10/10, 50))
}
