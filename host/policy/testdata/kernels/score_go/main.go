// The equal-work policy of the benchmark, in stock Go. ../README.md has the
// formula. The module is not committed for its size; the benchmark builds it in
// this folder, where the repository's packages are not looked for, by:
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w -buildid=' -o FILE .
package main

import (
	poise "github.com/poise-sched/poise/abi/guest/go"
	"github.com/poise-sched/poise/abi/guest/go/score"
)

// resource is a dimension and the weight of what is left of it.
type resource struct {
	capacity, allocated poise.Amount
	weight              float64
}

func resourceOf(dim string, weight float64) resource {
	return resource{plugin.Capacity(dim), plugin.Allocated(dim), weight}
}

var (
	plugin  = poise.New("score", "1.0.0").RowPure()
	cpu     = resourceOf("cpu", 0.4)
	memory  = resourceOf("memory", 0.3)
	storage = resourceOf("storage", 0.1)
	gpu     = resourceOf("gpu", 0.2)
	class   = plugin.Class()
	zone    = plugin.Label("zone")

	wantedZone  = plugin.Symbol("zone").Default("a")
	wantedClass = plugin.I64("class").Default(1).Min(0).Max(1<<32 - 1)

	_ = score.Export(rank)
)

// needs gives the request of a call, and what its rest is multiplied by.
func (r resource) needs(c *poise.Call) (request, scale float64) {
	if most := c.Fleet().Largest(r.capacity.Dim); most > 0 {
		scale = r.weight / most
	}
	return c.Job().Request(r.capacity.Dim), scale
}

// one is 1 where something holds, else 0, which the compiler does without a branch.
func one(holds bool) int64 {
	if holds {
		return 1
	}
	return 0
}

// rank cuts the columns to the length of losses, which spares the loop its
// bounds checks, and has no branches in it, as the kernel in C.
func rank(c *poise.Call, losses []float64) {
	n := len(losses)
	capacity0, allocated0 := cpu.capacity.Of(c)[:n], cpu.allocated.Of(c)[:n]
	request0, scale0 := cpu.needs(c)
	capacity1, allocated1 := memory.capacity.Of(c)[:n], memory.allocated.Of(c)[:n]
	request1, scale1 := memory.needs(c)
	capacity2, allocated2 := storage.capacity.Of(c)[:n], storage.allocated.Of(c)[:n]
	request2, scale2 := storage.needs(c)
	capacity3, allocated3 := gpu.capacity.Of(c)[:n], gpu.allocated.Of(c)[:n]
	request3, scale3 := gpu.needs(c)
	zones, classes := zone.Of(c)[:n], class.Of(c)[:n]
	inZone, inClass := wantedZone.Of(c), poise.Symbol(wantedClass.Of(c))
	for row := range losses {
		left0 := capacity0[row] - allocated0[row] - request0
		left1 := capacity1[row] - allocated1[row] - request1
		left2 := capacity2[row] - allocated2[row] - request2
		left3 := capacity3[row] - allocated3[row] - request3
		sum := float64(left0*scale0) + float64(left1*scale1) + float64(left2*scale2) + float64(left3*scale3)
		sum += float64(0.25 * float64(one(zones[row] != inZone)))
		sum += float64(0.125 * float64(one(classes[row] != inClass)))
		short := float64(one(left0 < 0) | one(left1 < 0) | one(left2 < 0) | one(left3 < 0))
		losses[row] = float64(sum*(1-short)) + float64(1e9*short)
	}
}

func main() {}
