package baseline

import "github.com/poise-sched/poise/host/state"

// random is the policy Random of Weng et al., "Beware of Fragmentation" (USENIX
// ATC 2023): one of the nodes that fit, uniformly, and for a share one of the
// devices that fit. Every row scores alike, so the seeded hash of the tie rule
// chooses: the same seed gives the same run, which the published code does not.
func random(*state.Snapshot, uint32, *ask) float64 { return maxScore }
