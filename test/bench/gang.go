package main

import (
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// gangTasks is how many tasks start together, gangNodes the fleet that they start on.
const (
	gangTasks = 1_000
	gangNodes = 10_000
)

// gangs times a gang of 1,000 equal tasks against 1,000 single tasks of the same
// request on a fleet of 10,000 nodes: plan, commit and
// the next plan, by turns, the fastest of some
// rounds each.
func gangs(rounds int) ([]report.Figure, error) {
	p, err := policy("idle-balance-spread", nil)
	if err != nil {
		return nil, err
	}
	f, err := newFleet(gangNodes, p, false)
	if err != nil {
		return nil, err
	}
	var single, together time.Duration
	for round := range rounds {
		a, err := f.timeTasks(round, false)
		if err != nil {
			return nil, err
		}
		b, err := f.timeTasks(round, true)
		if err != nil {
			return nil, err
		}
		if round == 0 || a < single {
			single = a
		}
		if round == 0 || b < together {
			together = b
		}
	}
	micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / gangTasks }
	return []report.Figure{
		{Name: "1,000 single tasks, 10,000 nodes: each", Value: micro(single), Unit: "us"},
		{Name: "a gang of 1,000 tasks, 10,000 nodes: each", Value: micro(together), Unit: "us"},
		{Name: "a gang of 1,000 against 1,000 single tasks", Value: float64(together) / float64(single), Unit: "x time", Goal: report.AtMost(2)},
	}, nil
}

// timeTasks places 1,000 tasks, one by one or as a gang, and has them end again; the
// time is that of planning and committing.
func (f *fleet) timeTasks(round int, gang bool) (time.Duration, error) {
	jobs := make([]*state.Job, gangTasks)
	for i := range jobs {
		j := poise.Job{
			ID: poise.JobID(fmt.Sprintf("task-%v-%d-%d", gang, round, i)), Name: "task", Tenant: "t", Tasks: 1, Request: f.shapes[0],
		}
		if gang {
			j.Tasks, j.Gang = gangTasks, &poise.Gang{ID: fmt.Sprint("gang-", round), Size: gangTasks, Index: int32(i)}
		}
		if err := f.apply(poise.JobSubmitted{Job: j}); err != nil {
			return 0, err
		}
		jobs[i] = f.state.Job(j.ID)
	}
	// What ended before is known to both.
	if _, err := f.pipeline.Plan(f.state.View(), jobs[0], sched.Pass{Detail: sched.Brief}); err != nil {
		return 0, err
	}
	began := time.Now()
	var err error
	if gang {
		err = f.placeTogether(jobs)
	} else {
		err = f.placeSingly(jobs)
	}
	if err == nil { // what trials changed has to be looked at once more
		_, err = f.pipeline.Plan(f.state.View(), jobs[0], sched.Pass{Detail: sched.Brief})
	}
	spent := time.Since(began)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		if err := f.apply(poise.JobFinished{Job: j.ID}); err != nil {
			return 0, err
		}
	}
	return spent, nil
}

func (f *fleet) placeSingly(jobs []*state.Job) error {
	for _, j := range jobs {
		d, err := f.pipeline.Plan(f.state.View(), j, sched.Pass{Detail: sched.Brief})
		if err != nil {
			return err
		}
		if d.Verdict != poise.Placed {
			return fmt.Errorf("BUG: a task of the bench has no place: %s", d.Verdict)
		}
		if err := f.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: d.Node, Devices: d.Devices}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) placeTogether(jobs []*state.Job) error {
	plan, err := f.pipeline.PlanGang(f.state.View(), jobs, sched.Pass{Detail: sched.Brief})
	if err != nil {
		return err
	}
	if plan.Members == nil {
		return fmt.Errorf("BUG: the gang of the bench has no place: %s", plan.Decision.Verdict)
	}
	b := poise.GangPlaced{Placements: make([]poise.Placement, len(plan.Members))}
	for i := range plan.Members {
		d := &plan.Members[i]
		b.Placements[i] = poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}
	}
	return f.apply(b)
}
