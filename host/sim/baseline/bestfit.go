package baseline

import (
	"math"

	"github.com/poise-sched/poise/host/state"
)

// bestFit is the policy BestFit of Weng et al. (USENIX ATC 2023): the node with
// the least left after the placement. With C idle milli-cores, F free
// milli-devices, c and G those requested, Cmax = 128000 and Gmax = 8000:
//
//	y = 0.5*(C-c)/Cmax + 0.5*(F-G)/Gmax
//	score = trunc( (1-y) * 100 )
//
// The published code then stretches the scores over the candidates to 0..100.
// That keeps their order and their ties and depends on the other candidates, so
// it is left out.
func bestFit(snap *state.Snapshot, row uint32, a *ask) float64 {
	cpu := float64(snap.Idle(row, 0) - a.cpu)
	devices := float64(total(snap.Free(row)) - a.device.Total())
	y := float64(cpu/publishedCPU*0.5) + float64(devices/publishedDevices*0.5)
	return math.Trunc((1 - y) * maxScore)
}
