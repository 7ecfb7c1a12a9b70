package baseline

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// fgd is the policy FGD, fragmentation gradient descent, of Weng et al., "Beware
// of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
// Descent" (USENIX ATC 2023): the node, and for a share the device, where the
// free devices become the least useless to typical tasks. With Phi the fragments
// of the node now and Phi' those after the placement, in milli-devices:
//
//	delta = (Phi - Phi') / 1000
//	score = trunc( 100 / (1 + exp(-delta)) )
//
// A share goes to the device with the best score, the lowest index among equals;
// whole devices are the lowest free ones. It belongs to one goroutine.
type fgd struct {
	fragments *fragments
	tasks     []*modelTasks // by model symbol of the snapshot being scored
	after     [poise.MaxDevices]uint16
}

var _ sched.Scorer = (*fgd)(nil)

func newFGD(typical []Typical) *fgd { return &fgd{fragments: newFragments(typical)} }

// Score implements sched.Scorer.
func (g *fgd) Score(b *state.Batch, loss []float64, devices []uint32) error {
	g.tasks = g.tasks[:0] // the symbols of another state may differ
	for _, model := range b.Snap.Models() {
		g.tasks = append(g.tasks, g.fragments.model(model))
	}
	a := newAsk(b.Job.Shape)
	for i, row := range b.Rows {
		score, device := g.score(b.Snap, row, &a)
		loss[i], devices[i] = maxScore-score, 0
		if device >= 0 {
			devices[i] = 1 << device
		}
	}
	return nil
}

// score gives the score of a row and the device that a share takes there, -1
// for any other request.
func (g *fgd) score(snap *state.Snapshot, row uint32, a *ask) (float64, int) {
	tasks := g.tasks[snap.Model(row)]
	free := snap.Free(row)
	cpu := snap.Idle(row, 0)
	before := g.fragments.phi(tasks, cpu, free)
	cpu -= a.cpu
	after := g.after[:copy(g.after[:], free)]
	if !a.device.Shared() {
		for d, left := 0, a.device.Count; d < len(after) && left > 0; d++ {
			if after[d] == poise.WholeDevice {
				after[d] = 0
				left--
			}
		}
		return sigmoid(before - g.fragments.phi(tasks, cpu, after)), -1
	}
	best, device := -1.0, -1
	for d, f := range free {
		if int32(f) < a.device.Milli || slices.Contains(free[:d], f) {
			continue // too little, or a device like an earlier one
		}
		after[d] = f - uint16(a.device.Milli)
		if s := sigmoid(before - g.fragments.phi(tasks, cpu, after)); s > best {
			best, device = s, d
		}
		after[d] = f
	}
	return best, device
}

// sigmoid turns the fall of fragments in milli-devices into a score; its unit
// is one device.
func sigmoid(fall float64) float64 {
	return math.Trunc(1 / (1 + math.Exp(-(fall / poise.WholeDevice))) * maxScore)
}
