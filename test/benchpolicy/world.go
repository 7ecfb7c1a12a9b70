package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// world is a fleet on which jobs come and go.
type world struct {
	state    *state.State
	random   *rand.Rand
	jobs     int
	running  []poise.JobID
	shapes   []poise.Request
	pipeline *sched.Pipeline
}

// newWorld joins so many nodes, no two alike but in zone and class, and puts load
// on them, so that what fits and what does not comes in no order.
func newWorld(nodes int, symbols poise.SymbolsWanted) (*world, error) {
	s, err := state.New(state.Settings{})
	if err != nil {
		return nil, err
	}
	w := &world{state: s, random: rand.New(rand.NewPCG(1, 2))}
	if err := w.apply(symbols); err != nil {
		return nil, err
	}
	for i := range nodes {
		n := poise.Node{
			Name: fmt.Sprintf("node-%06d", i),
			Capacity: resource.List{
				{Name: "cpu", Value: 1000 * (8 + w.random.Int64N(120))},
				{Name: "memory", Value: (16 + w.random.Int64N(500)) << 30},
				{Name: "storage", Value: (100 + w.random.Int64N(4000)) << 30},
			},
			Devices: poise.Devices{Kind: "gpu", Model: "A10", Count: 1 + w.random.Int32N(8)},
			Labels: []poise.Label{
				{Key: poise.ClassLabel, Value: fmt.Sprint("class-", w.random.IntN(4))}, {Key: "zone", Value: string(rune('a' + w.random.IntN(3)))},
			},
		}
		if err := w.apply(poise.NodeJoined{Node: n}); err != nil {
			return nil, err
		}
	}
	for range 16 {
		w.shapes = append(w.shapes, w.request())
	}
	return w, nil
}

// request draws what a job asks for.
func (w *world) request() poise.Request {
	return poise.Request{
		Amounts: resource.List{
			{Name: "cpu", Value: 500 * (1 + w.random.Int64N(16))},
			{Name: "memory", Value: (1 + w.random.Int64N(32)) << 30},
			{Name: "storage", Value: (1 + w.random.Int64N(40)) << 30},
		},
		Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 50 * (1 + w.random.Int32N(20))},
	}
}

func (w *world) apply(body poise.Body) error {
	return w.state.Apply(poise.Event{Index: w.state.Index() + 1, Body: body})
}

// submit makes a job of one of the 16 shapes known.
func (w *world) submit() (*state.Job, error) {
	w.jobs++
	id := poise.JobID(fmt.Sprint("job-", w.jobs))
	j := poise.Job{ID: id, Name: "job", Tenant: "tenant", Tasks: 1, Request: w.shapes[w.jobs%len(w.shapes)]}
	if err := w.apply(poise.JobSubmitted{Job: j}); err != nil {
		return nil, err
	}
	return w.state.Job(id), nil
}

// place submits a job, plans it and commits the decision; past so many running
// jobs the oldest ends.
func (w *world) place(most int) error {
	job, err := w.submit()
	if err != nil {
		return err
	}
	d, err := w.pipeline.Plan(w.state.View(), job, sched.Pass{Detail: sched.Brief})
	if err != nil {
		return err
	}
	if d.Fault != "" {
		return fmt.Errorf("job %s: %s", job.ID, d.Fault)
	}
	if d.Verdict != poise.Placed {
		return w.apply(poise.JobWithdrawn{Job: job.ID})
	}
	if err := w.apply(poise.JobPlaced{Placement: poise.Placement{Job: job.ID, Node: d.Node, Devices: d.Devices}}); err != nil {
		return err
	}
	if w.running = append(w.running, job.ID); len(w.running) > most {
		oldest := w.running[0]
		w.running = w.running[1:]
		return w.apply(poise.JobFinished{Job: oldest})
	}
	return nil
}

// scatter puts so many jobs on random nodes that have room for them.
func (w *world) scatter(jobs int) error {
	for range jobs {
		job, err := w.submit()
		if err != nil {
			return err
		}
		snap, ask := w.state.View(), &job.Shape.Request.Device
		row := uint32(w.random.IntN(snap.Rows()))
		placed := false
		for d, free := range snap.Free(row) {
			body := poise.JobPlaced{Placement: poise.Placement{Job: job.ID, Node: snap.Name(row), Devices: []uint16{uint16(d)}}}
			if int32(free) >= ask.Milli && w.apply(body) == nil {
				placed = true
				break
			}
		}
		if !placed {
			if err := w.apply(poise.JobWithdrawn{Job: job.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows gives all rows.
func (w *world) rows() []uint32 {
	rows := make([]uint32, w.state.View().Rows())
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// under makes the world plan with a plugin's loss.
func (w *world) under(g *policy.Guest) error {
	p, err := sched.Policy{Name: "base", Scorer: &native{}}.With(sched.Activation{Name: "plugin", Plugin: g, OnFailure: sched.Reject})
	w.pipeline = sched.NewPipeline(p)
	return err
}
