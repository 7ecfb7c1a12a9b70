package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/state"
)

//go:embed pauses/*.wasm
var pauseGuests embed.FS

// pauseCases are the calls that take longest for their fuel: what each does, and
// the module in pauses/, or else among the hostile ones of host/policy.
var pauseCases = []struct{ name, own, hostile string }{
	{"empty loop", "", "loop-score"},
	{"pointers through 4 MiB", "chase", ""},
	{"pointers through 16 MiB", "chase-go", ""},
	{"products of subnormal numbers", "subnormal", ""},
	{"the same, four at a time", "subnormal-vector", ""},
	{"divisions", "", "pause-divide"},
	{"divisions of vectors", "vector-divide", ""},
	{"conversions of vectors", "vector-convert", ""},
	{"square roots", "", "pause-root"},
	{"copies of half the memory", "", "pause-copy"},
	{"copies of 15 bytes", "", "pause-copy-small"},
	{"stores, each to another page", "", "pause-stride"},
	{"the same in 16 MiB", "stride-go", ""},
	{"memory.grow page by page", "", "memory-page-by-page"},
	{"memory.grow denied", "", "pause-grow-denied"},
	{"a tree of calls", "", "recursion-tree"},
	{"calls through the table", "", "pause-indirect"},
	{"endless recursion", "", "recursion-endless"},
	{"the host's random_get", "", "wasi-random-spin"},
	{"the host's clock_time_get", "", "pause-clock"},
}

// pauses times guest calls that use all the fuel that a call can have, and how
// long a garbage collection that begins beside one waits for it: compiled guest
// code cannot be preempted, so that is what a tenant can do to the daemon.
func (b *bench) pauses() ([]report.Figure, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var figures []report.Figure
	var worst pause
	for _, c := range pauseCases {
		bin, err := pauseGuests.ReadFile("pauses/" + c.own + ".wasm")
		if c.own == "" {
			bin, err = os.ReadFile(filepath.Join(b.kernels, "..", "hostile", c.hostile+".wasm"))
		}
		if err != nil {
			return nil, err
		}
		p, err := b.pause(bin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		worst = pause{max(worst.call, p.call), max(worst.collection, p.collection)}
		figures = append(figures, report.Figure{Name: "pause, " + c.name, Value: p.call.Seconds() * 1000, Unit: "ms"})
	}
	return append(figures,
		report.Figure{Name: "pause, worst of these calls", Value: worst.call.Seconds() * 1000, Unit: "ms", Goal: report.AtMost(pauseBound)},
		report.Figure{Name: "  a collection beside one, longest seen (wall-clock)", Value: worst.collection.Seconds() * 1000, Unit: "ms"},
		report.Figure{Name: "  a collection beside none, least", Value: b.collection().Seconds() * 1000, Unit: "ms"},
	), nil
}

// pauseBound is the time in ms that no guest call is to exceed.
const pauseBound = 15

// pause is what one guest does with its fuel.
type pause struct {
	call       time.Duration // processor time of a call, which other programs do not add to
	collection time.Duration // longest of a collection that begins while the call runs
}

// pause gives the least time of a call over the rounds, and the longest of a
// collection: not each of them meets the call. The call ends in a fault, so each
// round has an instance of its own, made outside of what is timed.
func (b *bench) pause(bin []byte) (of pause, err error) {
	e, m, err := loadToExhaust(bin)
	if err != nil {
		return pause{}, err
	}
	defer func() { _ = e.Close(context.Background()) }()
	p, err := policy.NewProbe(m, nil)
	if err != nil {
		return pause{}, err
	}
	defer p.Close()
	w, err := newWorld(1, p.Symbols())
	if err != nil {
		return pause{}, err
	}
	job, err := w.submit()
	if err != nil {
		return pause{}, err
	}
	for round := range 2 * b.rounds {
		used, collected, err := exhaust(p, w.state.View(), job, round%2 == 1)
		switch {
		case err != nil:
			return pause{}, err
		case round%2 == 1:
			of.collection = max(of.collection, collected)
		case of.call == 0 || used < of.call:
			of.call = used
		}
	}
	return of, nil
}

// loadToExhaust loads a module in an engine where a job of one row has just the
// fuel that one call of this module can have.
func loadToExhaust(bin []byte) (*policy.Engine, *policy.Module, error) {
	limits := policy.Defaults()
	for fuel := limits.CallFuel; ; {
		limits.JobFuel = fuel - limits.RowFuel
		e, err := policy.NewEngine(context.Background(), policy.Options{Limits: limits})
		if err != nil {
			return nil, nil, err
		}
		m, err := e.Load(context.Background(), bin)
		if err == nil && m.Limits().CallFuel == fuel {
			return e, m, nil
		}
		if err == nil {
			fuel = m.Limits().CallFuel
		}
		if closeErr := e.Close(context.Background()); err != nil || closeErr != nil {
			return nil, nil, errors.Join(err, closeErr)
		}
	}
}

// untilCall is how long after the signal a collection begins: by then the guest
// runs, and goes on running for some time.
const untilCall = 50 * time.Microsecond

// exhaust makes one call that takes all its fuel, if wanted with a collection
// beside it.
func exhaust(p *policy.Probe, snap *state.Snapshot, job *state.Job, collect bool) (used, collected time.Duration, err error) {
	if err := p.Begin(snap, job); err != nil {
		return 0, 0, err
	}
	begin, done := make(chan struct{}), make(chan time.Duration)
	if collect {
		go func() {
			<-begin
			for began := time.Now(); time.Since(began) < untilCall; {
			}
			began := time.Now()
			runtime.GC()
			done <- time.Since(began)
		}()
		close(begin)
	}
	before := processorTime()
	_, err = p.Ask(abi.Score, []uint32{0}, nil)
	used = processorTime() - before
	if collect {
		collected = <-done
	}
	if err == nil {
		return 0, 0, fmt.Errorf("%s: returned, expected that it takes all its fuel or faults", abi.Score)
	}
	return used, collected, nil
}

// collection gives the least time of a collection while no guest runs.
func (b *bench) collection() (least time.Duration) {
	for range b.rounds {
		began := time.Now()
		runtime.GC()
		if d := time.Since(began); least == 0 || d < least {
			least = d
		}
	}
	return least
}
