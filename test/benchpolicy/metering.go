package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/poise-sched/poise/abi"
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
// to lie is worth some percent.
func (b *bench) overhead(p *pair, run func(*bare) (uint64, error)) (plain, native float64, err error) {
	var least [2]time.Duration
	var leastNative time.Duration
	for range b.rounds {
		instances, err := p.instantiate()
		if err != nil {
			return 0, 0, err
		}
		for range samples {
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

// bare is an instance without the host around it, plain or metered.
type bare struct {
	module      api.Module
	fuel, depth api.MutableGlobal // nil of a plain one
	nesting     uint64
	score       api.Function
	table       [3]uint64 // arguments of score
	values      uint32
	stack       [3]uint64
	native      *columns // the same rows for native Go; nil where there is no table
}

func newBare(runtime wazero.Runtime, code wazero.CompiledModule, limits wasm.Limits) (*bare, error) {
	ctx := context.Background()
	module, err := runtime.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	in := &bare{module: module, nesting: uint64(limits.Depth), score: module.ExportedFunction(abi.Score)}
	if g := module.ExportedGlobal(wasm.FuelGlobal); g != nil {
		in.fuel = g.(api.MutableGlobal)
		in.depth = module.ExportedGlobal(wasm.DepthGlobal).(api.MutableGlobal)
	}
	if module.ExportedFunction(abi.Initialize) != nil {
		if _, err := in.call(abi.Initialize); err != nil {
			return nil, err
		}
	}
	if in.score != nil {
		return in, in.lay()
	}
	return in, nil
}

// ready gives a metered instance fuel and depth for a call.
func (in *bare) ready() {
	if in.fuel != nil {
		in.fuel.Set(math.MaxInt64)
		in.depth.Set(in.nesting)
	}
}

func (in *bare) call(export string, args ...uint64) (uint64, error) {
	in.ready()
	results, err := in.module.ExportedFunction(export).Call(context.Background(), args...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

// scored makes one call of score. Its losses are compared by same.
func (in *bare) scored() (uint64, error) {
	in.ready()
	in.stack = in.table
	if err := in.score.CallWithStack(context.Background(), in.stack[:]); err != nil {
		return 0, err
	}
	if status := int32(in.stack[0]); status != 0 {
		return 0, fmt.Errorf("%s: result %d, expected 0", abi.Score, status)
	}
	return 0, nil
}

// same says whether the last losses are those of native Go, to the bit.
func (in *bare) same(native *columns) error {
	if native == nil {
		return nil
	}
	values, _ := in.module.Memory().Read(in.values, 8*abi.MaxRows)
	for i, want := range native.loss {
		if got := math.Float64frombits(binary.LittleEndian.Uint64(values[8*i:])); math.Float64bits(got) != math.Float64bits(want) {
			return fmt.Errorf("row %d: loss %v, native Go has %v", i, got, want)
		}
	}
	return nil
}

// What the rows of the table have in common.
const (
	most   = 1000
	ask    = 100
	wanted = 1 // zone and class
)

// lay writes a table of as many rows as a call can have: capacities, loads, zones
// and classes in no order.
func (in *bare) lay() error {
	pointer, err := in.call(abi.Describe)
	if err != nil {
		return err
	}
	memory := in.module.Memory()
	at, _ := memory.ReadUint32Le(uint32(pointer))
	size, _ := memory.ReadUint32Le(uint32(pointer) + 4)
	text, _ := memory.Read(at, size)
	manifest, err := abi.ParseManifest(slices.Clone(text))
	if err != nil {
		return err
	}
	layout, err := abi.NewLayout(manifest, abi.Sizes{Rows: abi.MaxRows})
	if err != nil {
		return err
	}
	base, err := in.call(abi.Alloc, uint64(layout.Size), 8)
	if err != nil {
		return err
	}
	arena, ok := memory.Read(uint32(base), uint32(layout.Size))
	if base == 0 || !ok {
		return fmt.Errorf("%s: %#x for %d bytes, expected a pointer to them", abi.Alloc, base, layout.Size)
	}
	layout.PutTable(arena, uint32(base), abi.MaxRows)
	layout.PutParams(arena, []uint64{wanted, wanted})
	job, fleet := abi.JobBlock{}, abi.FleetBlock{Nodes: abi.MaxRows}
	for range layout.Dims {
		job.Request = append(job.Request, ask)
		fleet.Sum, fleet.Max = append(fleet.Sum, most*abi.MaxRows), append(fleet.Max, most)
	}
	layout.PutJob(arena, uint32(base), &job)
	layout.PutFleet(arena, uint32(base), &fleet)
	for i := range abi.MaxRows / 8 {
		arena[layout.Candidate+i] = 0xff
	}
	n := &columns{loss: make([]float64, abi.MaxRows), class: make([]uint32, abi.MaxRows), zone: make([]uint32, abi.MaxRows)}
	for d := range n.most {
		n.most[d] = most
		n.capacity[d], n.allocated[d] = slices.Repeat([]float64{most}, abi.MaxRows), make([]float64, abi.MaxRows)
	}
	in.native = n
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range layout.Columns {
		for row := range abi.MaxRows {
			b := arena[c.Offset+c.Stride*row:]
			switch c.Kind {
			case abi.Capacity:
				binary.LittleEndian.PutUint64(b, math.Float64bits(most))
			case abi.Allocated: // full on one node in five or so, whatever the dimension
				load := float64(random.IntN(most - ask/2))
				n.allocated[slices.Index(dims[:], c.Name)][row] = load
				binary.LittleEndian.PutUint64(b, math.Float64bits(load))
			case abi.Class:
				n.class[row] = random.Uint32N(4)
				binary.LittleEndian.PutUint32(b, n.class[row])
			default:
				n.zone[row] = random.Uint32N(4)
				binary.LittleEndian.PutUint32(b, n.zone[row])
			}
		}
	}
	in.values = uint32(base) + uint32(layout.Values)
	in.table = [3]uint64{base, base + uint64(layout.Job), base + uint64(layout.Out)}
	return nil
}
