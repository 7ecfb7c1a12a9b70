package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// run is what a call of "a" did.
type run struct {
	out    string
	memory []byte
	state  string
	units  int64
	depth  int32
	denied int32
}

const (
	fuzzFuel = 50_000
	// As the interpreter has room for 2,000 frames.
	fuzzDepth = 300
)

// runner keeps a runtime of each engine.
type runner struct{ engines []wazero.Runtime }

func newRunner(tb testing.TB) *runner {
	tb.Helper()
	r := &runner{}
	for _, e := range engines() {
		rt := wazero.NewRuntimeWithConfig(context.Background(), e.config())
		tb.Cleanup(func() { _ = rt.Close(context.Background()) })
		r.engines = append(r.engines, rt)
	}
	return r
}

// open instantiates on an engine, nameless.
func (r *runner) open(tb testing.TB, engine int, bin []byte) (m api.Module, done func()) {
	tb.Helper()
	ctx := context.Background()
	compiled, err := r.engines[engine].CompileModule(ctx, bin)
	if err != nil {
		tb.Fatalf("module does not compile: %v\n%x", err, bin)
	}
	m, err = r.engines[engine].InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		tb.Fatal(err)
	}
	return m, func() {
		_ = m.Close(ctx)
		_ = compiled.Close(ctx)
	}
}

func set(m api.Module, global string, v uint64) {
	m.ExportedGlobal(global).(api.MutableGlobal).Set(v)
}

func (r *runner) run(tb testing.TB, engine int, bin []byte, metered bool, arg uint64) run {
	tb.Helper()
	m, done := r.open(tb, engine, bin)
	defer done()
	if metered {
		set(m, FuelGlobal, fuzzFuel)
		set(m, DepthGlobal, fuzzDepth)
	}
	x := run{out: outcome(context.Background(), m.ExportedFunction("a"), arg)}
	size := m.Memory().Size()
	view, _ := m.Memory().Read(0, size)
	x.memory = bytes.Clone(view)
	if metered {
		for i := range genGlobals {
			x.state += fmt.Sprint(m.ExportedGlobal(StateGlobal(i)).Get(), " ")
		}
		x.units = fuzzFuel - int64(m.ExportedGlobal(FuelGlobal).Get())
		x.depth = int32(m.ExportedGlobal(DepthGlobal).Get())
		x.denied = int32(m.ExportedGlobal(DeniedGlobal).Get())
	}
	return x
}

// check runs one generated module on everything there is and compares.
func check(tb testing.TB, r *runner, in []byte, tally map[string]int) {
	tb.Helper()
	g := &generator{in: in}
	g.vectors = g.pick(2) == 1
	arg := uint64(g.pick(256))
	bin := g.module()
	limits := Defaults()
	limits.Depth = fuzzDepth
	if _, err := Verify(bin, limits, Contract{}); err != nil {
		tb.Fatalf("refused: %v\n%x", err, bin)
	}
	metered, err := Instrument(bin, limits)
	if err != nil {
		tb.Fatal(err)
	}
	a, b := r.run(tb, 0, metered, true, arg), r.run(tb, 1, metered, true, arg)
	if a.out != b.out || a.state != b.state || a.units != b.units || a.depth != b.depth || a.denied != b.denied || !bytes.Equal(a.memory, b.memory) {
		tb.Fatalf("engines differ: %s %s %d %d %d, %s %s %d %d %d\n%x", a.out, a.state, a.units, a.depth, a.denied, b.out, b.state, b.units, b.depth, b.denied, bin)
	}
	ended := a.units <= fuzzFuel && a.depth >= 0
	if ended {
		if p := r.run(tb, 0, bin, false, arg); p.out != a.out || !bytes.Equal(p.memory, a.memory) {
			tb.Fatalf("metering changes the outcome: plain %s, instrumented %s\n%x", p.out, a.out, bin)
		}
	}
	tally[map[bool]string{true: "ended", false: "stopped"}[ended]]++
	if g.vectors {
		return
	}
	x := newReference(bin)
	x.fuel, x.depth = 2*fuzzFuel, fuzzDepth
	x.globals, x.table = make([]uint64, genGlobals), make([]uint32, genSlots)
	x.data = [][]byte{make([]byte, genData)}
	at := x.m.sections[secGlobal].from + 1
	for i := range x.globals {
		x.globals[i] = uint64(int64(int8(bin[at+3]<<1)) >> 1)
		if i%2 == 0 {
			x.globals[i] = uint64(uint32(x.globals[i]))
		}
		at += 5
	}
	for i := range x.table {
		x.table[i] = uint32(i % len(g.fns))
	}
	results, err := x.call(0, []uint64{arg})
	switch {
	case err == nil && ended:
		tally["counted"]++
		if a.out != fmt.Sprint(results) || a.units != x.units || a.denied != x.denied || !bytes.Equal(a.memory, x.memory) {
			tb.Fatalf("reference: %v, %d units, %d denied; instrumented: %s, %d units, %d denied\n%x", results, x.units, x.denied, a.out, a.units, a.denied, bin)
		}
	case err == nil && x.units <= fuzzFuel && a.units > fuzzFuel:
		tb.Fatalf("stopped at %d units, the reference needs %d\n%x", a.units, x.units, bin)
	case errors.Is(err, errTrap) && ended:
		tally["trapped"]++
		if a.units < x.units {
			tb.Fatalf("%s after %d units, charged %d\n%x", a.out, x.units, a.units, bin)
		}
	case errors.Is(err, errLimit) && ended:
		tb.Fatalf("%s with %d units, but the reference hits a limit at %d\n%x", a.out, a.units, x.units, bin)
	}
}

// What generated modules do is the same on both engines, fuel and memory
// included, the same as without the meter where they end, and costs what the
// reference counts.
func FuzzInstrument(f *testing.F) {
	r := newRunner(f)
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 300))
	}
	f.Fuzz(func(t *testing.T, in []byte) { check(t, r, in[:min(len(in), 2000)], map[string]int{}) })
}

func randomBytes(seed uint64, n int) []byte {
	src := rand.New(rand.NewPCG(seed, 1))
	in := make([]byte, n)
	for i := range in {
		in[i] = byte(src.Uint32())
	}
	return in
}

// The same over a fixed set, so that every run of the tests covers it.
func TestInstrumentGenerated(t *testing.T) {
	r := newRunner(t)
	tally := map[string]int{}
	modules := 1500
	if slow {
		modules = 400
	}
	for seed := range uint64(modules) {
		check(t, r, randomBytes(seed, 100+int(seed)), tally)
	}
	t.Log(tally)
	// A generator that makes only modules that stop at once would prove nothing.
	for what, floor := range map[string]int{"ended": modules / 2, "stopped": modules / 50, "counted": modules / 8, "trapped": modules / 50} {
		if tally[what] < floor {
			t.Errorf("%d modules %s, expected at least %d", tally[what], what, floor)
		}
	}
}
