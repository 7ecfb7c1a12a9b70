package baseline

import "github.com/poise-sched/poise/host/state"

// gpuClustering is the policy GpuClustering of Weng et al. (USENIX ATC 2023):
// tasks of one kind together. The kinds are a share of a device and, for whole
// devices, their number; K are the kinds of the tasks on the node and F its free
// milli-devices:
//
//	b = floor( 25 * (8000-F) / 8000 )
//	score = b + 75      K holds the job's kind alone
//	      = b + 50      K holds it and others
//	      = b + 25      K is empty
//	      = b           K holds others only
//	      = 0           no devices requested
func gpuClustering(snap *state.Snapshot, row uint32, a *ask) float64 {
	own := taskKind(a.device.Count, a.device.Shared())
	if own == 0 {
		return 0
	}
	kinds := uint64(0)
	for l := snap.Tasks(row); l != nil; l = l.Next {
		device := &l.Task.Shape.Request.Device
		kinds |= taskKind(device.Count, device.Shared())
	}
	score := 25 * (publishedDevices - total(snap.Free(row))) / publishedDevices
	switch {
	case kinds == own:
		score += 75
	case kinds&own != 0:
		score += 50
	case kinds == 0:
		score += 25
	}
	return float64(score)
}

// taskKind gives the bit of a kind of task: 0 for shares, k for k devices. A
// task without devices has no kind.
func taskKind(count int32, shared bool) uint64 {
	switch {
	case count == 0:
		return 0
	case shared:
		return 1
	}
	return 1 << count
}
