package baseline

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// maxScore is the best score of every baseline.
const maxScore = 100

// What the published policies take for the largest node of the fleet, whatever
// fleet it is: milli-cores, and milli-devices of eight devices. On nodes or
// requests beyond it their scores leave 0 to 100 but still rank.
const (
	publishedCPU     = 128000
	publishedDevices = 8000
)

// ask is the request of a job, as far as baselines look at it.
type ask struct {
	cpu    int64 // milli-cores
	memory int64 // bytes
	device *poise.DeviceRequest
}

func newAsk(shape *state.Shape) ask {
	cpu, _ := shape.Request.Amounts.Find("cpu")
	memory, _ := shape.Request.Amounts.Find("memory")
	return ask{cpu: cpu, memory: memory, device: &shape.Request.Device}
}

// rule gives the score of a row on which the job fits: a whole number, larger
// is better. It leaves the choice of devices to the host.
type rule func(snap *state.Snapshot, row uint32, a *ask) float64

var _ sched.Scorer = rule(nil)

// Score implements sched.Scorer.
func (r rule) Score(b *state.Batch, loss []float64, devices []uint32) error {
	a := newAsk(b.Job.Shape)
	for i, row := range b.Rows {
		loss[i], devices[i] = maxScore-r(b.Snap, row, &a), 0
	}
	return nil
}

// total sums the free milli-devices of a node.
func total(free []uint16) int64 {
	sum := int64(0)
	for _, f := range free {
		sum += int64(f)
	}
	return sum
}
