package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/report"
)

const (
	// lightRate is a light load in jobs a second, lightTime how long it lasts.
	lightRate = 20
	lightTime = 30 * time.Second
	// rest is how long a daemon is left alone before it counts as idle, idleTime
	// how long that is then watched.
	rest     = 5 * time.Second
	idleTime = 20 * time.Second
)

// quiet takes the time from a submission to its placement on disk under a light
// load, with a fsync of the same disk between any two, and then what the daemon
// wakes up for when nobody asks anything.
func (b *bench) quiet() ([]report.Figure, error) {
	dir, err := b.scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := b.start(dir, "serve")
	if err != nil {
		return nil, err
	}
	address, err := p.line()
	if err != nil {
		return nil, err
	}
	c, err := client.New(address)
	if err != nil {
		return nil, err
	}
	began, syncs, err := light(c, filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	c.Close()
	time.Sleep(rest)
	before, counted := wakeups(p.cmd.Process.Pid)
	time.Sleep(idleTime)
	after, _ := wakeups(p.cmd.Process.Pid)
	if err := p.stop(); err != nil {
		return nil, err
	}
	all, err := p.written()
	if err != nil {
		return nil, err
	}
	waits, err := placedAfter(all, began)
	if err != nil {
		return nil, err
	}
	figures := []report.Figure{
		{Name: fmt.Sprintf("submitted to placed at %d jobs/s, median", lightRate), Value: percentile(waits, 50), Unit: "us"},
		{Name: "  p99", Value: percentile(waits, 99), Unit: "us"},
		{Name: "one fsync of 4 KiB between them, median", Value: percentile(syncs, 50), Unit: "us"},
		{Name: "  p99", Value: percentile(syncs, 99), Unit: "us"},
		{Name: "submitted to placed, p99", Value: percentile(waits, 99) / percentile(syncs, 99), Unit: "x fsync p99"},
	}
	if counted {
		figures = append(figures, report.Figure{
			Name: fmt.Sprintf("idle wake-ups, %d nodes", b.nodes), Value: float64(after-before) / idleTime.Seconds(), Unit: "/s", Goal: report.AtMost(5),
		})
	}
	return figures, nil
}

// light submits at a steady rate, and halfway between any two jobs writes a page
// to a file and has it synced. It gives when each job was sent.
func light(c *client.Client, name string) (began map[string]time.Time, syncs []time.Duration, err error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	began = map[string]time.Time{}
	page := make([]byte, 4096)
	tick := time.NewTicker(time.Second / lightRate / 2)
	defer tick.Stop()
	for i := range int(lightTime.Seconds()) * lightRate {
		<-tick.C
		at := time.Now()
		jobs, err := c.Submit(context.Background(), []client.JobSpec{job(i)}, "")
		if err != nil {
			return nil, nil, err
		}
		began[jobs[0].ID] = at
		<-tick.C
		at = time.Now()
		if _, err = f.Write(page); err == nil {
			err = f.Sync()
		}
		if err != nil {
			return nil, nil, err
		}
		syncs = append(syncs, time.Since(at))
	}
	return began, syncs, nil
}

// placedAfter gives how long after a job was sent its placement was durable.
func placedAfter(all []transaction, began map[string]time.Time) (waits []time.Duration, err error) {
	for i := range all {
		for _, batch := range all[i].Group {
			for _, d := range batch.Decisions {
				if at, ok := began[d.Job]; ok {
					waits = append(waits, time.Duration(all[i].At-at.UnixNano()))
				}
			}
		}
	}
	if len(waits) != len(began) {
		return nil, fmt.Errorf("%d of %d jobs placed, expected each once", len(waits), len(began))
	}
	return waits, nil
}

// percentile gives one in us.
func percentile(list []time.Duration, percent int) float64 {
	list = slices.Sorted(slices.Values(list))
	return float64(list[(len(list)-1)*percent/100].Nanoseconds()) / 1000
}
