package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/policy/wasm"
	"github.com/poise-sched/poise/host/report"
)

// metering times modules as the meter leaves them against the same modules as
// they came, both on the engine itself: the scoring kernel in each language, and
// loops that do little else than what is charged.
func (b *bench) metering() ([]report.Figure, error) {
	ctx := context.Background()
	limits := policy.Defaults().Module
	limits.MemoryPages = policy.Defaults().GoMemoryPages
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().
		WithMemoryLimitPages(limits.MemoryPages).WithMemoryCapacityFromMax(true))
	defer func() { _ = runtime.Close(ctx) }()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	modules, err := b.modules()
	if err != nil {
		return nil, err
	}
	var figures []report.Figure
	for i := range modules {
		m := &modules[i]
		goal := report.AtMost(1.08)
		if m.name == "stock Go" {
			goal = report.AtMost(1.3)
		}
		p, err := newPair(runtime, m.bin, limits)
		if err != nil {
			return nil, fmt.Errorf("kernel in %s: %w", m.name, err)
		}
		ratio, native, err := b.overhead(p, (*bare).scored)
		if err != nil {
			return nil, fmt.Errorf("kernel in %s: %w", m.name, err)
		}
		figures = append(figures,
			report.Figure{Name: "metering, scoring kernel in " + m.name, Value: ratio, Unit: "x plain", Goal: goal},
			report.Figure{Name: "  a call of 4,096 rows alone, fuel on, " + m.name, Value: native, Unit: "x native", Goal: m.goal})
	}
	loops, err := b.loops(runtime, limits)
	return append(figures, loops...), err
}

// loops measures small kernels and gives the worst of them.
func (b *bench) loops(runtime wazero.Runtime, limits wasm.Limits) ([]report.Figure, error) {
	bin, err := os.ReadFile(filepath.Join(b.kernels, "..", "..", "wasm", "testdata", "kernels.wasm"))
	if err != nil {
		return nil, err
	}
	p, err := newPair(runtime, bin, limits)
	if err != nil {
		return nil, err
	}
	var figures []report.Figure
	worst := report.Figure{Name: "metering, worst of these kernels", Unit: "x plain", Goal: report.AtMost(1.4)}
	for _, k := range []struct {
		name, export string
		n            uint64
	}{{"multiply-xor loop", "multiply", 300_000}, {"recursive Fibonacci numbers", "fib", 20}, {"shell sort", "sort", 4095}, {"byte store loop", "fill", 300_000}} {
		ratio, _, err := b.overhead(p, func(in *bare) (uint64, error) { return in.call(k.export, k.n) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		figures = append(figures, report.Figure{Name: "  metering, " + k.name, Value: ratio, Unit: "x plain"})
		worst.Value = max(worst.Value, ratio)
	}
	return append(figures, worst), nil
}

// samples is how often a call of well under a millisecond is timed in a round.
const samples = 20

// overhead gives the least time of a metered call over that of a plain one and,
// of a scoring kernel, over that of the kernel in native Go. They take turns and
// have to give the same. Each round has new instances: where their memories come
// to lie is worth some percent. Each sample has new rows: a branch predictor learns
// those that it sees again.
func (b *bench) overhead(p *pair, run func(*bare) (uint64, error)) (plain, native float64, err error) {
	var least [2]time.Duration
	var leastNative time.Duration
	for range b.rounds {
		instances, err := p.instantiate()
		if err != nil {
			return 0, 0, err
		}
		for sample := range samples {
			for _, in := range instances {
				in.fill(uint64(sample))
			}
			var results [2]uint64
			if c := instances[0].native; c != nil {
				began := time.Now()
				c.score([4]float64{ask, ask, ask, ask}, wanted, wanted)
				if d := time.Since(began); leastNative == 0 || d < leastNative {
					leastNative = d
				}
			}
			for i, in := range instances {
				began := time.Now()
				result, err := run(in)
				if d := time.Since(began); least[i] == 0 || d < least[i] {
					least[i] = d
				}
				if err != nil {
					return 0, 0, err
				}
				results[i] = result
			}
			if results[0] != results[1] {
				return 0, 0, fmt.Errorf("metered: result %#x, the plain module gives %#x", results[1], results[0])
			}
		}
		for _, in := range instances {
			if err := in.same(instances[0].native); err != nil {
				return 0, 0, err
			}
			if err := in.module.Close(context.Background()); err != nil {
				return 0, 0, err
			}
		}
	}
	return float64(least[1]) / float64(least[0]), float64(least[1]) / float64(max(leastNative, 1)), nil
}

// pair is a module plain and metered.
type pair struct {
	runtime wazero.Runtime
	limits  wasm.Limits
	codes   [2]wazero.CompiledModule
}

func newPair(runtime wazero.Runtime, bin []byte, limits wasm.Limits) (*pair, error) {
	metered, err := wasm.Instrument(bin, limits)
	if err != nil {
		return nil, err
	}
	p := &pair{runtime: runtime, limits: limits}
	for i, bin := range [2][]byte{bin, metered} {
		if p.codes[i], err = runtime.CompileModule(context.Background(), bin); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// instantiate makes an instance of each, with the same table where it is a plugin.
func (p *pair) instantiate() (instances [2]*bare, err error) {
	for i, code := range p.codes {
		if instances[i], err = newBare(p.runtime, code, p.limits); err != nil {
			return instances, err
		}
	}
	return instances, nil
}
