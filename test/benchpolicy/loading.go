package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/state"
)

// cached makes an engine over a cache directory, which compiles in a child.
func cached(dir string) (*policy.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return policy.NewEngine(context.Background(), policy.Options{
		Cache: dir, Child: []string{self, compileArgument}, Limits: policy.Defaults(),
	})
}

// loading times the load of a plugin that was compiled before, in a new engine
// each time, as after a restart of the daemon: in processor time, which is the time
// that it takes where nobody else wants the processor, since one thread does it and
// the files are in memory. The compile child's is that of the clock.
func (b *bench) loading() ([]report.Figure, error) {
	dir, err := os.MkdirTemp("", "poise-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	modules, err := b.modules()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var figures []report.Figure
	for i := range modules {
		goal := report.AtMost(1)
		if modules[i].name == "stock Go" {
			goal = report.AtMost(100)
		}
		var best, first time.Duration
		for round := range b.rounds + 1 {
			e, err := cached(filepath.Join(dir, fmt.Sprint(i)))
			if err != nil {
				return nil, err
			}
			clock, began := time.Now(), processorTime()
			if _, err := e.Load(context.Background(), modules[i].bin); err != nil {
				return nil, err
			}
			d := processorTime() - began
			if round == 0 {
				first = time.Since(clock)
			} else if best == 0 || d < best {
				best = d
			}
			if err := e.Close(context.Background()); err != nil {
				return nil, err
			}
		}
		figures = append(figures,
			report.Figure{Name: "load from the compile cache, " + modules[i].name, Value: best.Seconds() * 1000, Unit: "ms", Goal: goal},
			report.Figure{Name: "  first load, compiled in a child", Value: first.Seconds() * 1000, Unit: "ms"})
	}
	return figures, nil
}

// activationRounds is how often a plugin is activated and rolled back.
const activationRounds = 1000

// activations switches between two plugins 1,000 times while each answers for
// jobs, and says by how much the memory in use grew from the 100th round on.
func (b *bench) activations() ([]report.Figure, error) {
	dir, err := os.MkdirTemp("", "poise-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	e, err := cached(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close(context.Background()) }()
	modules, err := b.modules()
	if err != nil {
		return nil, err
	}
	var w *world
	round := func(bin []byte) error {
		m, err := e.Load(context.Background(), bin)
		if err != nil {
			return err
		}
		g, err := policy.NewGuest(m, nil)
		if err != nil {
			return err
		}
		defer g.Close()
		if w == nil {
			if w, err = newWorld(1000, g.Symbols()); err != nil {
				return err
			}
		}
		job, err := w.submit()
		if err != nil {
			return err
		}
		batch := state.Batch{Snap: w.state.View(), Job: job, Rows: w.rows()}
		g.Prepare(batch.Snap, job)
		if err := g.Score(&batch, make([]float64, len(batch.Rows)), make([]uint32, len(batch.Rows))); err != nil {
			return err
		}
		return m.Close(context.Background())
	}
	var early uint64
	for i := range activationRounds {
		if err := round(modules[i%2].bin); err != nil {
			return nil, err
		}
		if i == 100 {
			early = inUse()
		}
	}
	growth := 100 * (float64(inUse())/float64(early) - 1)
	return []report.Figure{{Name: "1,000 activations and rollbacks: growth of memory in use", Value: growth, Unit: "%", Goal: report.AtMost(5)}}, nil
}

// inUse is the memory that Go holds and uses, after a collection: heap, and what
// the runtime took from the system less what it gave back.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
