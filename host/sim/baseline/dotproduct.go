package baseline

import (
	"math"

	"github.com/poise-sched/poise/host/state"
)

// dotProduct is the policy DotProd of Weng et al. (USENIX ATC 2023): the node
// whose idle resources and the request have the least dot product, over cpu and
// the sum of the devices. With the symbols of bestFit:
//
//	x = (C/Cmax)*(c/Cmax) + (F/Gmax)*(G/Gmax)
//	score = trunc( 100 * (1 - x/2) )
func dotProduct(snap *state.Snapshot, row uint32, a *ask) float64 {
	cpu := float64(snap.Idle(row, 0)) / publishedCPU
	devices := float64(total(snap.Free(row))) / publishedDevices
	x := float64(cpu*(float64(a.cpu)/publishedCPU)) + float64(devices*(float64(a.device.Total())/publishedDevices))
	return math.Trunc(maxScore * (1 - float64(x/2)))
}
