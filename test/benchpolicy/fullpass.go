package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/state"
)

// kernelModule is the kernel in one language.
type kernelModule struct {
	name string
	bin  []byte
	goal report.Goal
}

// modules reads the kernel in every language.
func (b *bench) modules() ([]kernelModule, error) {
	all := []kernelModule{
		{name: "C", goal: report.AtMost(2)}, {name: "Rust", goal: report.AtMost(2)}, {name: "C with SIMD", goal: report.AtMost(1.05)},
	}
	for i, file := range []string{"score_c.wasm", "score_rs.wasm", "score_simd.wasm"} {
		bin, err := os.ReadFile(filepath.Join(b.kernels, file))
		if err != nil {
			return nil, err
		}
		all[i].bin = bin
	}
	if b.goGuest != nil {
		all = append(all, kernelModule{name: "stock Go", bin: b.goGuest, goal: report.AtMost(5)})
	}
	return all, nil
}

// buildGoGuest compiles the kernel in stock Go.
func buildGoGuest(kernels string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "poise-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "score.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = filepath.Join(kernels, "score_go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
}

// passRows are the rows of a full pass.
const passRows = 10_000

// fullPass times one job's look at 10,000 rows through the whole of host/policy
// (columns held, instance set back, fuel on, answers checked) against the same
// function in native Go over columns of its own.
func (b *bench) fullPass() ([]report.Figure, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close(context.Background()) }()
	modules, err := b.modules()
	if err != nil {
		return nil, err
	}
	guests := make([]*policy.Guest, len(modules))
	for i := range modules {
		m, err := e.Load(context.Background(), modules[i].bin)
		if err != nil {
			return nil, err
		}
		if guests[i], err = policy.NewGuest(m, nil); err != nil {
			return nil, err
		}
		defer guests[i].Close()
	}
	w, err := newWorld(passRows, guests[0].Symbols())
	if err != nil {
		return nil, err
	}
	if err := w.scatter(4 * passRows); err != nil {
		return nil, err
	}
	rows, loss, mask := w.rows(), make([]float64, passRows), make([]uint32, passRows)
	c := newColumns(w.state.View())
	zone, class := uint32(0), uint32(1) // the kernel compares the class with a number
	for i, text := range w.state.View().Symbols() {
		if text == "a" {
			zone = uint32(i)
		}
	}

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fastest := func(best *time.Duration, run func() error) error {
		began := processorTime()
		if err := run(); err != nil {
			return err
		}
		if d := processorTime() - began; *best == 0 || d < *best {
			*best = d
		}
		return nil
	}
	var nativeTime time.Duration
	times := make([]time.Duration, len(guests))
	for range b.rounds * samples {
		// Another job each time, as in life: which rows it fits on is not to be learnt
		// by the processor.
		job, err := w.submit()
		if err != nil {
			return nil, err
		}
		batch := state.Batch{Snap: w.state.View(), Job: job, Rows: rows}
		q := request(&job.Shape.Request)
		if err := fastest(&nativeTime, func() error { c.score(q, zone, class); return nil }); err != nil {
			return nil, err
		}
		for i, g := range guests {
			err := fastest(&times[i], func() error {
				g.Prepare(batch.Snap, job)
				return g.Score(&batch, loss, mask)
			})
			if err != nil {
				return nil, err
			}
			for row := range loss {
				if math.Float64bits(loss[row]) != math.Float64bits(c.loss[row]) {
					return nil, fmt.Errorf("kernel in %s, row %d: loss %v, native Go has %v", modules[i].name, row, loss[row], c.loss[row])
				}
			}
		}
	}
	figures := []report.Figure{{Name: "kernel in native Go, 10,000 rows", Value: float64(nativeTime.Nanoseconds()) / passRows, Unit: "ns/row"}}
	for i := range modules {
		figures = append(figures, report.Figure{
			Name: "full pass of 10,000 rows, " + modules[i].name, Value: float64(times[i]) / float64(nativeTime), Unit: "x native", Goal: modules[i].goal,
		}, report.Figure{
			Name: "  fuel of it", Value: float64(guests[i].Use().Fuel) / float64(guests[i].Use().Rows), Unit: "units/row",
		})
	}
	return figures, nil
}
