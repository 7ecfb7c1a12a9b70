package balance_test

import (
	"fmt"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

const gi = 1 << 30

// history makes events out of what happened.
type history struct {
	state *state.State
	index uint64
}

func newHistory() *history {
	s, err := state.New(state.Settings{})
	if err != nil {
		panic(err)
	}
	return &history{state: s}
}

func (h *history) apply(body poise.Body) {
	h.index++
	if err := h.state.Apply(poise.Event{Index: h.index, Body: body}); err != nil {
		panic(err)
	}
}

func (h *history) submit(id poise.JobID, cpu, memory int64, device poise.DeviceRequest) *state.Job {
	h.apply(poise.JobSubmitted{Job: poise.Job{
		ID: id, Name: string(id), Tenant: "t", Tasks: 1,
		Request: poise.Request{Amounts: amounts(cpu, memory), Device: device},
	}})
	return h.state.Job(id)
}

func amounts(cpu, memory int64) resource.List {
	return resource.List{{Name: "cpu", Value: cpu}, {Name: "memory", Value: memory}}
}

func print(columns []poise.Column, loss float64) {
	for _, c := range columns {
		fmt.Printf("%-6s %.2f * (%.4f * %.4f - %.4f * %.4f)\n", c.Name, c.Factor, c.Weight, c.Before, c.Weight, c.After)
	}
	fmt.Printf("loss %.6f\n", loss)
}

// Half of the cpu and a quarter of the memory are in use, and the job takes a
// quarter of the cpu and an eighth of the memory. The deviation of 1/2 and 1/4
// from their mean is 1/8, so b = 0.875; afterwards 3/4 and 3/8 deviate by 3/16,
// so b' = 0.8125. The idle weights 0.5 and 0.75 have the mean 0.625, so w = 0.8
// and 1.2, and L = 0.5*0.8*(b-b') + 0.5*1.2*(b-b') = b - b' = 0.0625: the
// placement would make the node less balanced.
func ExampleSpread() {
	h := newHistory()
	h.apply(poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: amounts(8000, 16*gi)}})
	h.submit("running", 4000, 4*gi, poise.DeviceRequest{})
	h.apply(poise.JobPlaced{Placement: poise.Placement{Job: "running", Node: "a"}})
	job := h.submit("job", 2000, 2*gi, poise.DeviceRequest{})

	spread, err := balance.NewSpread(balance.Weights{"cpu": 1, "memory": 1})
	if err != nil {
		panic(err)
	}
	loss, devices := make([]float64, 1), make([]uint32, 1)
	batch := &state.Batch{Snap: h.state.View(), Job: job, Rows: []uint32{0}}
	if err := spread.Score(batch, loss, devices); err != nil {
		panic(err)
	}
	_, columns := spread.Explain(h.state.View(), job, 0, nil)
	print(columns, loss[0])
	// Output:
	// cpu    0.50 * (0.8000 * 0.8750 - 0.8000 * 0.8125)
	// memory 0.50 * (1.2000 * 0.8750 - 1.2000 * 0.8125)
	// loss 0.062500
}

// One node with two idle devices; the only job seen so far wants half a device
// and half of the node's cpu. Its weight is 1*(1+1/2) = 1.5 = W, and the prior
// shape, the whole node, weighs 0.1*W: p = 1/1.1 and 0.1/1.1. Two copies of the
// first and one of the second fit, so S = 1 and 2 devices of S_tot = 2, and
// h = p * (a/2) * (3/(S+1))^2 = 0.5114 and 0.0909.
//
// Column gpu: w = 2/2 = 1 and b = ((p*2*0.5 + p*1*2)/2)^beta. With the job on
// device 0, one copy of the first shape is left: b' = ((p*1*0.5)/1.5)^beta.
// Column room: w*b = 0.5114*2 + 0.0909 and w*b' = 0.5114. The loss is
// (0.7967 - 0.6391) + 0.15*(1.1136 - 0.5114): every placement costs something,
// and the node where it costs least is taken.
func ExampleDemand() {
	params := balance.Defaults()
	h := newHistory()
	h.apply(poise.NodeJoined{Node: poise.Node{
		Name: "g", Capacity: amounts(8000, 16*gi), Devices: poise.Devices{Kind: "gpu", Count: 2},
	}})
	job := h.submit("job", 4000, 0, poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500})
	if balance.Due(h.state.View(), &params) {
		h.apply(poise.ProfileBuilt{Profiles: balance.BuildProfiles(h.state.View(), h.state.Demand(), &params)})
	}

	demand, err := balance.NewDemand(params)
	if err != nil {
		panic(err)
	}
	loss, devices := make([]float64, 1), make([]uint32, 1)
	batch := &state.Batch{Snap: h.state.View(), Job: job, Rows: []uint32{0}}
	if err := demand.Score(batch, loss, devices); err != nil {
		panic(err)
	}
	_, columns := demand.Explain(h.state.View(), job, 0, []uint16{0})
	print(columns, loss[0])
	fmt.Printf("device mask %b\n", devices[0])
	// Output:
	// gpu    1.00 * (1.0000 * 0.7967 - 1.0000 * 0.6391)
	// room   0.15 * (1.5000 * 0.7424 - 1.5000 * 0.3409)
	// loss 0.247939
	// device mask 1
}
