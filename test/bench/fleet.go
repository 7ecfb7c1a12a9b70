package main

import (
	"fmt"
	"math/rand"
	"strconv"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

const gib = 1 << 30

// fleet is a synthetic fleet kept at a steady fill: every placement is paid
// for by the end of an older task.
type fleet struct {
	state    *state.State
	pipeline *sched.Pipeline
	params   balance.Params
	profiled bool
	shapes   []poise.Request
	random   *rand.Rand
	index    uint64
	live     []poise.JobID // running, in random order
	next     int
}

// newFleet makes n nodes of a few makes, a third of them with devices, and
// fills them to about two thirds. The jobs have 16 shapes; with devices is
// whether some of them ask for devices.
func newFleet(n int, p sched.Policy, devices bool) (*fleet, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	f := &fleet{state: s, pipeline: sched.NewPipeline(p), params: balance.Defaults(), random: rand.New(rand.NewSource(1))}
	f.profiled = p.WantsProfile
	for i := range n {
		if err := f.apply(poise.NodeJoined{Node: synthetic(i, devices)}); err != nil {
			return nil, err
		}
	}
	for i := range 16 {
		r := poise.Request{Amounts: resource.List{{Name: "cpu", Value: int64(1000 * (1 + i%8))}, {Name: "memory", Value: int64(1+i%5) * 4 * gib}}}
		if devices && i%2 == 1 {
			r.Device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: []int32{250, 500, 1000}[i/2%3]}
			if i == 15 {
				r.Device.Count, r.Device.Milli = 4, poise.WholeDevice
			}
		}
		f.shapes = append(f.shapes, r)
	}
	for range 5 * n {
		if _, err := f.place(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func synthetic(i int, devices bool) poise.Node {
	cores := int64([]int{32, 48, 64, 96}[i%4])
	node := poise.Node{
		Name:     fmt.Sprintf("node-%06d", i),
		Capacity: resource.List{{Name: "cpu", Value: cores * 1000}, {Name: "memory", Value: cores * int64(2+i%3*2) * gib}},
	}
	if devices && i%3 == 0 {
		node.Devices = poise.Devices{Kind: "gpu", Model: []string{"t4", "a100"}[i/3%2], Count: int32(4 + i/6%2*4)}
	}
	return node
}

func (f *fleet) apply(body poise.Body) error {
	f.index++
	return f.state.Apply(poise.Event{Index: f.index, Body: body})
}

// submit makes one more job known, of a random shape.
func (f *fleet) submit() (*state.Job, error) {
	f.next++
	id := poise.JobID("job-" + strconv.Itoa(f.next))
	job := poise.Job{ID: id, Name: string(id), Tenant: "bench", Tasks: 1, Request: f.shapes[f.random.Intn(len(f.shapes))]}
	if err := f.apply(poise.JobSubmitted{Job: job}); err != nil {
		return nil, err
	}
	if f.profiled && balance.Due(f.state.View(), &f.params) {
		profiles := balance.BuildProfiles(f.state.View(), f.state.Demand(), &f.params)
		if err := f.apply(poise.ProfileBuilt{Profiles: profiles}); err != nil {
			return nil, err
		}
	}
	return f.state.Job(id), nil
}

// place submits, plans and commits one job, and says whether it was placed.
func (f *fleet) place() (bool, error) {
	j, err := f.submit()
	if err != nil {
		return false, err
	}
	d, err := f.pipeline.Plan(f.state.View(), j, sched.Pass{Detail: sched.Brief})
	if err != nil {
		return false, err
	}
	if d.Verdict != poise.Placed {
		return false, f.apply(poise.JobWithdrawn{Job: j.ID})
	}
	f.live = append(f.live, j.ID)
	return true, f.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: d.Node, Devices: d.Devices}})
}

// finish ends a random task.
func (f *fleet) finish() error {
	i := f.random.Intn(len(f.live))
	id := f.live[i]
	f.live[i] = f.live[len(f.live)-1]
	f.live = f.live[:len(f.live)-1]
	return f.apply(poise.JobFinished{Job: id})
}

// scan decides as the pipeline does, but scores every fitting row anew.
func (f *fleet) scan(j *state.Job, scorer sched.Scorer, w *scanned) error {
	snap := f.state.View()
	cpu, _ := j.Shape.Request.Amounts.Find("cpu")
	memory, _ := j.Shape.Request.Amounts.Find("memory")
	w.rows = w.rows[:0]
	for row := range uint32(snap.Rows()) {
		if snap.Schedulable(row) && snap.Idle(row, 0) >= cpu && snap.Idle(row, 1) >= memory {
			w.rows = append(w.rows, row)
		}
	}
	for len(w.loss) < len(w.rows) {
		w.loss, w.mask = append(w.loss, 0), append(w.mask, 0)
	}
	if err := scorer.Score(&state.Batch{Snap: snap, Job: j, Rows: w.rows}, w.loss, w.mask); err != nil {
		return err
	}
	best := 0
	for i := range w.rows {
		a, b := poise.RoundLoss(w.loss[i]), poise.RoundLoss(w.loss[best])
		if a < b || a == b && snap.Rank(w.rows[i]) < snap.Rank(w.rows[best]) {
			best = i
		}
	}
	w.best = w.rows[best]
	return nil
}

type scanned struct {
	rows []uint32
	loss []float64
	mask []uint32
	best uint32
}
