package baseline

import (
	"math"
	"math/bits"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// use is what of one resource a node would have in use with the job on it.
type use struct{ allocated, capacity int64 }

// uses gives cpu, memory and the sum of the devices, with the job on the row. As
// in kube-scheduler a resource that the node does not have is left out, and so
// are the devices for a job that requests none. Unlike kube-scheduler a job that
// requests no cpu or memory counts as 0, not as 100 milli-cores and 200 MB.
func uses(snap *state.Snapshot, row uint32, a *ask) ([3]use, int) {
	var all [3]use
	n := 0
	for dim, request := range [...]int64{a.cpu, a.memory} {
		if capacity := snap.Capacity(row, dim); capacity > 0 {
			all[n] = use{snap.Allocated(row, dim) + request, capacity}
			n++
		}
	}
	if a.device.Count > 0 && snap.Devices(row) > 0 {
		capacity := int64(snap.Devices(row)) * poise.WholeDevice
		all[n] = use{capacity - total(snap.Free(row)) + a.device.Total(), capacity}
		n++
	}
	return all, n
}

// percent is floor(part * 100 / whole) for 0 <= part <= whole, in 128 bits.
func percent(part, whole int64) int64 {
	high, low := bits.Mul64(uint64(part), maxScore)
	p, _ := bits.Div64(high, low, uint64(whole))
	return int64(p)
}

// mostAllocated is the strategy MostAllocated of kube-scheduler's plugin
// NodeResourcesFit (pkg/scheduler/framework/plugins/noderesources/
// most_allocated.go), every resource with weight 1: the node that is fullest
// with the job on it. Over the n resources r of capacity C, A in use with the
// job on it, all divisions rounding down:
//
//	score = sum_r ( 100*min(A,C) / C ) / n            0 where n = 0
func mostAllocated(snap *state.Snapshot, row uint32, a *ask) float64 {
	all, n := uses(snap, row, a)
	sum := int64(0)
	for _, u := range all[:n] {
		sum += percent(min(u.allocated, u.capacity), u.capacity)
	}
	return float64(sum / int64(max(n, 1)))
}

// leastAllocated is the strategy LeastAllocated of kube-scheduler's plugin
// NodeResourcesFit (least_allocated.go), its default: the node that is emptiest
// with the job on it. With the symbols of mostAllocated:
//
//	score = sum_r ( 100*max(C-A,0) / C ) / n          0 where n = 0
func leastAllocated(snap *state.Snapshot, row uint32, a *ask) float64 {
	all, n := uses(snap, row, a)
	sum := int64(0)
	for _, u := range all[:n] {
		sum += percent(max(u.capacity-u.allocated, 0), u.capacity)
	}
	return float64(sum / int64(max(n, 1)))
}

// balanced is kube-scheduler's plugin NodeResourcesBalancedAllocation
// (balanced_allocation.go, as of v1.34): the node whose resources are used most
// evenly with the job on it. Over the n resources r, f = min(A/C, 1), as in
// mostAllocated:
//
//	std = sqrt( sum_r (f - mean)^2 / n )     |f1 - f2|/2 for n = 2, 0 for n < 2
//	score = trunc( (1-std) * 100 )
//
// A job that requests nothing scores 0 everywhere.
func balanced(snap *state.Snapshot, row uint32, a *ask) float64 {
	if a.cpu == 0 && a.memory == 0 && a.device.Count == 0 {
		return 0
	}
	all, n := uses(snap, row, a)
	var fraction [len(all)]float64
	sum := 0.0
	for i, u := range all[:n] {
		fraction[i] = min(float64(u.allocated)/float64(u.capacity), 1)
		sum += fraction[i]
	}
	deviation := 0.0
	switch {
	case n == 2:
		deviation = math.Abs((fraction[0] - fraction[1]) / 2)
	case n > 2:
		mean, squares := sum/float64(n), 0.0
		for _, f := range fraction[:n] {
			squares += float64((f - mean) * (f - mean))
		}
		deviation = math.Sqrt(squares / float64(n))
	}
	return math.Trunc((1 - deviation) * maxScore)
}
