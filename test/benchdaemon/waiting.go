package main

import (
	"context"
	"os"
	"runtime"
	"strconv"

	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/report"
)

// waitingJobs is how many jobs wait when what one takes is measured.
const waitingJobs = 20_000

// waiting gives the memory that a daemon needs for a job that waits.
func (b *bench) waiting() ([]report.Figure, error) {
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	grown, err := once[int64](b, dir, "waiting", strconv.Itoa(waitingJobs))
	if err != nil {
		return nil, err
	}
	return []report.Figure{{Name: "memory of a waiting job", Value: float64(grown) / waitingJobs, Unit: "B"}}, nil
}

// waiting says by how much the heap is larger while so many jobs wait.
func (h *host) waiting(n int) error {
	return h.within(func(ctx context.Context, d *daemon.Daemon) error {
		before := heap()
		if err := there(ctx, d, 0, n); err != nil {
			return err
		}
		return say(heap() - before)
	})
}

// heap is what is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first left in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
