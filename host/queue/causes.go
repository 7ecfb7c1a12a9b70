package queue

import "github.com/poise-sched/poise/host/poise"

// Causes is a set: what keeps a job from being placed, or what an event may
// have changed for the better.
type Causes uint64

// The causes beside the dimensions. Dimensions count from bit 0, these from bit
// 63 downwards.
const (
	// Devices: too few idle devices, or none with a large enough idle share.
	Devices Causes = 1 << (63 - iota)
	// Described: what a node says of itself, that is labels, taints, capacity,
	// kind, model and number of its devices.
	Described
	// Marked: a node is drained or not ready.
	Marked
	// Joined: the fleet lacks a node. Every job that one more could help waits
	// for it.
	Joined
	// Quota: a tenant holds too much.
	Quota
	// Reserved: a node is kept for jobs that go before.
	Reserved
	// Pods: which pods are on which node.
	Pods
)

// lastDimension is the cause that all dimensions of this index and above
// share. Sharing may wake a job in vain, it cannot leave one asleep.
const lastDimension = 47

// Dimension is the cause of too little idle in the dimension of this index.
func Dimension(index int) Causes { return 1 << min(index, lastDimension) }

// CauseOf gives the cause behind the reason for which a node was refused: the
// reason stands until an event helps that cause on that node. A node that is
// too small even when empty waits for a new description of itself, not for
// tasks to end.
func CauseOf(r poise.Reason) Causes {
	switch r.Code() {
	case poise.Fits:
		return 0
	case poise.IdleShort:
		return Dimension(r.Dim())
	case poise.DeviceIdleShort:
		return Devices
	case poise.NodeNotReady, poise.NodeDrained:
		return Marked
	case poise.Reserved:
		return Reserved
	case poise.PolicyRefused, poise.PolicyFaulted:
		return ^Causes(0) // nobody but the policy knows what would help
	case poise.PoolOverQuota:
		return Quota
	case poise.PortTaken, poise.FarFromPods, poise.NearPods, poise.KeptAway, poise.Uneven:
		return Pods
	default:
		return Described
	}
}

// CausesOf gives what could help a job that was not placed: what Park wants.
func CausesOf(d *poise.Decision) Causes {
	blocked := Joined
	if d.Verdict == poise.OverQuota {
		blocked |= Quota
	}
	for _, reason := range d.Reasons {
		blocked |= CauseOf(reason)
	}
	return blocked
}
