package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// bare is an instance without the host around it, plain or metered.
type bare struct {
	module      api.Module
	fuel, depth api.MutableGlobal // nil of a plain one
	nesting     uint64
	score       api.Function
	table       [3]uint64 // arguments of score
	values      uint32
	layout      *abi.Layout
	base        uint32
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
	in.native, in.layout, in.base = n, layout, uint32(base)
	in.fill(0)
	in.values = uint32(base) + uint32(layout.Values)
	in.table = [3]uint64{base, base + uint64(layout.Job), base + uint64(layout.Out)}
	return nil
}

// fill draws the rows of a table anew; an instance without one has none.
func (in *bare) fill(seed uint64) {
	if in.native == nil {
		return
	}
	arena, _ := in.module.Memory().Read(in.base, uint32(in.layout.Size))
	random := rand.New(rand.NewPCG(3, seed))
	n := in.native
	for _, c := range in.layout.Columns {
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
}
