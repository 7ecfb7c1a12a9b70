package main

import (
	"fmt"
	"runtime"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// memory measures what a node row and a waiting job hold on the heap.
func memory() ([]report.Figure, error) {
	row, err := rowBytes(100_000)
	if err != nil {
		return nil, err
	}
	job, err := jobBytes(1_000_000)
	if err != nil {
		return nil, err
	}
	return []report.Figure{
		{Name: "memory: node row, 6 dimensions, 8 devices", Value: row, Unit: "bytes", Goal: report.AtMost(400)},
		{Name: "memory: waiting job, state and queue", Value: job, Unit: "bytes", Goal: report.AtMost(600)},
	}, nil
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func rowBytes(n int) (float64, error) {
	before := heap()
	s, err := state.New(state.Settings{})
	if err != nil {
		return 0, err
	}
	for i := range n {
		node := poise.Node{
			Name: fmt.Sprintf("node-%06d", i),
			Capacity: resource.List{
				{Name: "bandwidth", Value: 25_000_000},
				{Name: "cpu", Value: 64_000},
				{Name: "ephemeral-storage", Value: 100 * gib},
				{Name: "memory", Value: 256 * gib},
				{Name: "pods", Value: 110_000},
				{Name: "storage", Value: 2000 * gib},
			},
			Devices: poise.Devices{Kind: "gpu", Model: "a100", Count: 8},
		}
		if err := s.Apply(poise.Event{Index: uint64(i + 1), Body: poise.NodeJoined{Node: node}}); err != nil {
			return 0, err
		}
	}
	s.View()
	bytes := (heap() - before) / float64(n)
	runtime.KeepAlive(s)
	return bytes, nil
}

func jobBytes(n int) (float64, error) {
	before := heap()
	s, err := state.New(state.Settings{})
	if err != nil {
		return 0, err
	}
	q, err := queue.New(queue.Defaults())
	if err != nil {
		return 0, err
	}
	for i := range n {
		id := poise.JobID(fmt.Sprintf("job-%08d", i))
		job := poise.Job{
			ID: id, Name: string(id), Tenant: "bench", Tasks: 1,
			Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: int64(1000 + i%64)}, {Name: "memory", Value: gib}}},
		}
		if err := s.Apply(poise.Event{Index: uint64(i + 1), Body: poise.JobSubmitted{Job: job}}); err != nil {
			return 0, err
		}
		j := s.Job(id)
		item := queue.Item{
			Job: j.ID, Shape: queue.ShapeID(j.Shape.ID), Priority: j.Priority, Submitted: j.Submitted,
			Size: queue.SizeOf(&j.Shape.Request), Seq: j.Seq,
		}
		if err := q.Push(item); err != nil {
			return 0, err
		}
	}
	bytes := (heap() - before) / float64(n)
	runtime.KeepAlive(s)
	runtime.KeepAlive(q)
	return bytes, nil
}
