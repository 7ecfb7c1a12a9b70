package wasm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// metered runs "f" of a module and gives the outcome, the units used, the depth
// and the denials.
func metered(t *testing.T, r *runner, bin []byte, fuel int64, arg uint64) (out string, units int64, depth, denied int32) {
	t.Helper()
	instrumented, err := Instrument(bin, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for engine := range r.engines {
		m, done := r.open(t, engine, instrumented)
		set(m, FuelGlobal, uint64(fuel))
		set(m, DepthGlobal, uint64(Defaults().Depth))
		o := outcome(context.Background(), m.ExportedFunction("f"), arg)
		u := fuel - int64(m.ExportedGlobal(FuelGlobal).Get())
		d := int32(m.ExportedGlobal(DepthGlobal).Get())
		n := int32(m.ExportedGlobal(DeniedGlobal).Get())
		done()
		if engine > 0 && (o != out || u != units || d != depth || n != denied) {
			t.Fatalf("engines differ: %s %d %d %d, %s %d %d %d", out, units, depth, denied, o, u, d, n)
		}
		out, units, depth, denied = o, u, d, n
	}
	return out, units, depth, denied
}

// Units by hand. The parameter is local 0, local 1 is another i32.
func TestUnits(t *testing.T) {
	r := newRunner(t)
	f := func(name string, arg uint64, want int64, code ...byte) {
		t.Helper()
		out, units, _, _ := metered(t, r, simple(code...), 1<<40, arg)
		if units != want || !strings.HasPrefix(out, "[") {
			t.Errorf("%s: %s with %d units, want %d", name, out, units, want)
		}
	}
	f("one instruction", 0, 1, 0x20, 0)
	f("nop and drop", 0, 4, 0x01, 0x20, 0, 0x1a, 0x20, 0)
	f("load 4, add 1", 0, 8, 0x20, 0, 0x28, 2, 0, 0x20, 0, 0x6a, 0x01)
	f("store 4", 0, 7, 0x20, 0, 0x20, 0, 0x36, 2, 0, 0x20, 0)
	f("division 4", 1, 6, 0x20, 0, 0x20, 0, 0x6d)
	f("remainder 4", 1, 6, 0x20, 0, 0x20, 0, 0x70)
	f("f64 division 16, conversions 1", 1, 21, 0x20, 0, 0xb7, 0x20, 0, 0xb7, 0xa3, 0xaa)
	f("f64 root 16", 1, 19, 0x20, 0, 0xb7, 0x9f, 0xaa)
	f("vector load 4, extract 1", 0, 6, 0x20, 0, 0xfd, 0, 0, 0, 0xfd, 0x1b, 0)
	f("vector division 16", 0, 21, 0x20, 0, 0xfd, 0x11, 0x20, 0, 0xfd, 0x11, 0xfd, 0xf3, 0x01, 0xfd, 0x1b, 0)
	f("vector root 16", 0, 19, 0x20, 0, 0xfd, 0x11, 0xfd, 0xe3, 0x01, 0xfd, 0x1b, 0)
	// local 1 = local 0; loop { local 1 -= 1; again if local 1 != 0 }: 2 + n·5.
	loop := []byte{0x20, 0, 0x21, 1, 0x03, 0x40, 0x20, 1, 0x41, 1, 0x6b, 0x22, 1, 0x0d, 0, 0x0b, 0x20, 0}
	f("loop of one round", 1, 3+5, loop...)
	f("loop of 1000 rounds", 1000, 3+5*1000, loop...)
	branches := []byte{0x20, 0, 0x04, 0x7f, 0x41, 7, 0x05, 0x41, 1, 0x41, 2, 0x6a, 0x0b}
	f("if", 1, 2+1, branches...)
	f("else", 0, 2+3, branches...)
	f("if without else, taken", 1, 4+2, 0x20, 0, 0x04, 0x40, 0x01, 0x01, 0x0b, 0x01, 0x20, 0)
	f("if without else, not taken", 0, 4, 0x20, 0, 0x04, 0x40, 0x01, 0x01, 0x0b, 0x01, 0x20, 0)
	early := []byte{0x20, 0, 0x04, 0x40, 0x41, 9, 0x0f, 0x0b, 0x01, 0x01, 0x20, 0}
	f("early return", 1, 2+2, early...)
	f("no early return", 0, 2+3, early...)
	// Three blocks; br_table leaves one, two or three; a nop behind the inner, two
	// behind the middle.
	table := []byte{
		0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 2, 0, 1, 2, 0x0b,
		0x01, 0x0b, 0x01, 0x01, 0x0b, 0x20, 0,
	}
	f("br_table 0", 0, 2+1+2+1, table...)
	f("br_table 1", 1, 2+2+1, table...)
	f("br_table 2", 2, 2+1, table...)
	f("br_table default", 77, 2+1, table...)
	f("br_if out of nested blocks, taken", 1, 2+1, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0d, 1, 0x01, 0x0b, 0x01, 0x0b, 0x20, 0)
	f("br_if out of nested blocks, not taken", 0, 2+2+1, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0d, 1, 0x01, 0x0b, 0x01, 0x0b, 0x20, 0)
	f("dead code is free", 0, 2, 0x02, 0x40, 0x0c, 0, 0x01, 0x01, 0x01, 0x0b, 0x20, 0)
	f("branch to the function's label", 5, 2, 0x20, 0, 0x0c, 0, 0x01)
	f("memory.size", 0, 1, 0x3f, 0)
	fill := func(n int64) []byte {
		code := appendSigned([]byte{0x41, 0, 0x41, 1, 0x41}, n)
		return append(code, 0xfc, 11, 0, 0x20, 0)
	}
	f("fill of 0", 0, 5, fill(0)...)
	f("fill of 15", 0, 5, fill(15)...)
	f("fill of 16", 0, 6, fill(16)...)
	f("fill of a page", 0, 5+4096, fill(65536)...)
	f("copy of 1000", 0, 5+62, 0x41, 0, 0x41, 0, 0x41, 0xe8, 0x07, 0xfc, 10, 0, 0, 0x20, 0)
	f("init of 100", 0, 5+6, 0x41, 0, 0x41, 0, 0x41, 0xe4, 0x00, 0xfc, 8, 0, 0, 0x20, 0)
	f("grow by 0", 0, 51, 0x20, 0, 0x40, 0)
	f("grow by 2", 2, 51+2*4096, 0x20, 0, 0x40, 0)
	f("grow denied", 3, 51, 0x20, 0, 0x40, 0)
	f("grow denied, by all", math.MaxUint32, 51, 0x20, 0, 0x40, 0)
	// A reference to a function is made outside of the compiled code.
	f("ref.func", 0, 52, 0xd2, 0, 0x1a, 0x20, 0)
	// f(n) = n == 0 ? 0 : f(n-1).
	recursion := []byte{0x20, 0, 0x04, 0x7f, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x05, 0x41, 0, 0x0b}
	f("recursion of depth 0", 0, 2+1, recursion...)
	f("recursion of depth 300", 300, 3+300*6, recursion...)
}

// Where ways through a function meet, values that are taken along cost a unit
// for four, and so do the locals above 64. The parameter is one of the locals.
func TestUnitsOfMoves(t *testing.T) {
	r := newRunner(t)
	f := func(name string, locals uint64, arg uint64, want int64, code ...byte) {
		t.Helper()
		out, units, _, _ := metered(t, r, simpleLocals(i32s(locals-1), code...), 1<<40, arg)
		if units != want || !strings.HasPrefix(out, "[") {
			t.Errorf("%s, %d locals: %s with %d units, want %d", name, locals, out, units, want)
		}
	}
	block := []byte{0x02, 0x40, 0x0b, 0x20, 0}
	f("block", 64, 0, 1, block...)
	f("block", 67, 0, 1, block...)
	f("block", 68, 0, 1+1, block...)
	f("block", 4096, 0, 1+1008, block...)
	branch := []byte{0x02, 0x40, 0x0c, 0, 0x0b, 0x20, 0}
	f("block and br", 72, 0, 2+2*2, branch...)
	branchIf := []byte{0x02, 0x40, 0x20, 0, 0x0d, 0, 0x0b, 0x20, 0}
	f("block and br_if, taken", 72, 1, 3+2*2, branchIf...)
	f("block and br_if, not taken", 72, 0, 3+2*2, branchIf...)
	table := []byte{0x02, 0x40, 0x20, 0, 0x0e, 1, 0, 0, 0x0b, 0x20, 0}
	f("block and br_table", 72, 0, 3+2*2, table...)
	choice := []byte{0x20, 0, 0x04, 0x40, 0x01, 0x05, 0x0b, 0x20, 0}
	f("if, taken", 72, 1, 4+2, choice...)
	f("if, not taken", 72, 0, 3+2, choice...)
	// local 1 = local 0; loop { local 1 -= 1; again if local 1 != 0 }.
	loop := []byte{0x20, 0, 0x21, 1, 0x03, 0x40, 0x20, 1, 0x41, 1, 0x6b, 0x22, 1, 0x0d, 0, 0x0b, 0x20, 0}
	f("loop of 1000 rounds", 72, 1000, 3+2+(5+2)*1000, loop...)
	values := func(n int) []byte {
		bin := newBuilder().
			section(secType, vector(fnType([]ValType{I32}, []ValType{I32}), fnType(nil, slices.Repeat([]ValType{I32}, n)))...).
			section(secFunction, 1, 0).
			section(secMemory, 1, 0, 1).
			section(secExport, vector(export("memory", kindMemory, 0), export("f", kindFunc, 0))...).
			section(secCode, vector(fnBody(nil, slices.Concat(
				[]byte{0x02, 1}, slices.Repeat([]byte{0x41, 0}, n), []byte{0x0c, 0, 0x0b}, slices.Repeat([]byte{0x1a}, n), []byte{0x20, 0},
			)...))...).out
		return bin
	}
	for _, n := range []int{0, 3, 4, 100} {
		if out, units, _, _ := metered(t, r, values(n), 1<<40, 0); out != "[0]" || units != int64(2*n+2+2*(n/4)) {
			t.Errorf("%d values: %s with %d units, want %d", n, out, units, 2*n+2+2*(n/4))
		}
	}
}

// Whoever uses the last unit, none of the functions that called it goes on for
// longer than its next test: without tests behind calls, each would go through
// all its code on the way back.
func TestOverrunOnTheWayBack(t *testing.T) {
	r := newRunner(t)
	const heavy, depth = 1000, 300
	work := slices.Repeat([]byte{0x01}, heavy)
	// f(n) = { n != 0 ? f(n-1) }, then the work, in a stretch of its own.
	f := func(name string, parts ...[]byte) {
		t.Helper()
		code := slices.Concat(parts...)
		out, units, _, _ := metered(t, r, simple(append(code, 0x41, 0)...), 100*depth, depth)
		if out != "wasm error: unreachable" || units < 100*depth || units > 100*depth+2*int64(len(code)) {
			t.Errorf("%s: %s with %d units, want unreachable with hardly more than %d", name, out, units, 100*depth)
		}
	}
	again := []byte{0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x1a}
	call := slices.Concat([]byte{0x20, 0, 0x04, 0x40}, again, []byte{0x0b})
	yes := slices.Concat([]byte{0x41, 1, 0x04, 0x40}, work, []byte{0x0b})
	f("if", call, yes)
	f("else", call, []byte{0x41, 0, 0x04, 0x40, 0x05}, work, []byte{0x0b})
	f("br_if", call, []byte{0x02, 0x40, 0x41, 0, 0x0d, 0}, work, []byte{0x0b})
	f("if in if", call, []byte{0x41, 1, 0x04, 0x40}, yes, []byte{0x0b})
	f("if behind if", call, []byte{0x41, 0, 0x04, 0x40, 0x0b}, yes)
	f("if behind a loop that is passed over", call, []byte{0x02, 0x40, 0x41, 1, 0x0d, 0, 0x03, 0x40, 0x0b, 0x0b}, yes)
	f("if behind a block that is left", call, []byte{0x02, 0x40, 0x02, 0x40, 0x41, 1, 0x0d, 1, 0x01, 0x0b, 0x01, 0x0b}, yes)
	f("call in a loop", []byte{0x03, 0x40}, call, []byte{0x0b}, yes)
	f("call in the first arm", []byte{0x20, 0, 0x04, 0x40}, again, []byte{0x05, 0x0b}, yes)
	f("call in the second arm", []byte{0x20, 0, 0x45, 0x04, 0x40, 0x05}, again, []byte{0x0b}, yes)
	f("call before br", []byte{0x02, 0x40, 0x20, 0, 0x04, 0x40}, again, []byte{0x0c, 1, 0x0b, 0x01, 0x0b}, yes)
	f("call before br_table", []byte{0x02, 0x40, 0x20, 0, 0x04, 0x40}, again, []byte{0x41, 0, 0x0e, 1, 1, 1, 0x0b, 0x01, 0x0b}, yes)
}

// A loop that hands two values round: 1 + 1, and per round 6 of work.
func TestUnitsOfMultiValueLoop(t *testing.T) {
	bin := newBuilder().
		section(secType, vector(
			fnType([]ValType{I32}, []ValType{I32}),
			fnType([]ValType{I32, I64}, []ValType{I32, I64}),
			fnType([]ValType{I32}, []ValType{I32, I64}),
		)...).
		section(secFunction, vector([]byte{0}, []byte{2})...).
		section(secMemory, 1, 0, 1).
		section(secExport, vector(export("memory", kindMemory, 0), export("f", kindFunc, 0))...).
		section(secCode, vector(
			// call 1, drop the i64: 1 + 1 + 1.
			fnBody(nil, 0x20, 0, 0x10, 1, 0x1a),
			// local.get, i64.const, loop { local.set 1, i32.const, sub, local.tee 0,
			// local.get 1, local.get 0, br_if }.
			fnBody([][]byte{{1, byte(I64)}}, 0x20, 0, 0x42, 5, 0x03, 1, 0x21, 1, 0x41, 1, 0x6b, 0x22, 0, 0x20, 1, 0x20, 0, 0x0d, 0, 0x0b),
		)...).out
	r := newRunner(t)
	for _, n := range []uint64{1, 2, 500} {
		out, units, _, _ := metered(t, r, bin, 1<<40, n)
		if want := 3 + 2 + 7*int64(n); out != "[0]" || units != want {
			t.Errorf("%d rounds: %s with %d units, want %d", n, out, units, want)
		}
	}
}

// Running out: the trap, and how far below 0 the counter may be.
func TestOutOfFuel(t *testing.T) {
	r := newRunner(t)
	f := func(name string, fuel, wantUnits int64, code ...byte) {
		t.Helper()
		out, units, depth, _ := metered(t, r, simple(code...), fuel, 1)
		if out != "wasm error: unreachable" || units != wantUnits || depth < 0 {
			t.Errorf("%s: %s with %d units, depth %d, want unreachable with %d", name, out, units, depth, wantUnits)
		}
	}
	f("endless loop", 1000, 1001, 0x03, 0x40, 0x0c, 0, 0x0b, 0x20, 0)
	f("endless loop, fuel 0", 0, 1, 0x03, 0x40, 0x0c, 0, 0x0b, 0x20, 0)
	f("entry", 0, 1, 0x20, 0)
	f("recursion", 500, 502, 0x20, 0, 0x10, 0)
	// Past every test, the fill of 4 GiB costs 2^28 and is tested before it would
	// trap for its bounds.
	f("fill of 4 GiB", 1000, 5+1<<28-1, 0x41, 0, 0x41, 0, 0x41, 0x7f, 0xfc, 11, 0, 0x20, 0)
	f("copy of 4 GiB", 1000, 5+1<<28-1, 0x41, 0, 0x41, 0, 0x41, 0x7f, 0xfc, 10, 0, 0, 0x20, 0)
	f("grow", 8000, 51+2*4096, 0x41, 2, 0x40, 0)
	// A trap of the guest's own is not out of fuel.
	if out, units, _, _ := metered(t, r, simple(0x00), 10, 0); out != "wasm error: unreachable" || units != 1 {
		t.Errorf("own trap: %s with %d units", out, units)
	}
}

// A module can be called again with new fuel after a trap.
func TestRefuel(t *testing.T) {
	r := newRunner(t)
	bin, err := Instrument(simple(0x20, 0, 0x04, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b, 0x20, 0), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	m, done := r.open(t, 0, bin)
	defer done()
	for _, arg := range []uint64{1, 0, 1, 0} {
		set(m, FuelGlobal, 100)
		set(m, DepthGlobal, 1)
		out := outcome(context.Background(), m.ExportedFunction("f"), arg)
		if (out == "[0]") != (arg == 0) {
			t.Errorf("f(%d): %s", arg, out)
		}
	}
}

// Recursion stops at the same depth whichever way it calls and returns.
func TestDepth(t *testing.T) {
	r := newRunner(t)
	f := func(name string, arg uint64, stops bool, code ...byte) {
		t.Helper()
		out, units, depth, _ := metered(t, r, simple(code...), 1<<40, arg)
		if stopped := out == "wasm error: unreachable"; stopped != stops || stopped != (depth < 0) || units < 0 {
			t.Errorf("%s: f(%d) is %s at depth %d", name, arg, out, depth)
		}
	}
	plain := []byte{0x20, 0, 0x04, 0x7f, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x05, 0x41, 0, 0x0b}
	f("as deep as allowed", 1000, false, plain...)
	f("one deeper", 1001, true, plain...)
	branch := []byte{0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x0c, 1, 0x0b, 0x41, 0}
	f("result by br, as deep as allowed", 1000, false, branch...)
	f("result by br, one deeper", 1001, true, branch...)
	back := []byte{0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x0f, 0x0b, 0x41, 0}
	f("result by return, as deep as allowed", 1000, false, back...)
	f("result by return, one deeper", 1001, true, back...)
	// f(n) calls itself twice, so there are 2^14 calls and 14 levels.
	twice := []byte{0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x1a, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x1a, 0x0b, 0x41, 0}
	f("breadth is not depth", 14, false, twice...)
}

// Functions with large frames count more, so that the counter stops them before
// the native stack does.
func TestDepthOfLargeFrames(t *testing.T) {
	r := newRunner(t)
	f := func(arg uint64, stops bool, bin []byte) {
		t.Helper()
		out, _, depth, _ := metered(t, r, bin, 1<<40, arg)
		if stopped := out == "wasm error: unreachable"; stopped != stops || stopped != (depth < 0) {
			t.Errorf("f(%d) is %s at depth %d", arg, out, depth)
		}
	}
	locals := simpleLocals(i32s(4000), 0x20, 0, 0x04, 0x7f, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x05, 0x41, 0, 0x0b)
	f(1000/16, false, locals)
	f(1000/16+1, true, locals)
	// 8,000 vectors are alive over the call: 125 KiB of native stack a level.
	code := []byte{0x20, 0, 0x04, 0x7f}
	for i := range 8000 {
		code = appendUnsigned(append(code, 0x20, 0, 0xfd, 0, 0), uint64(i%128))
	}
	code = append(code, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0xfd, 0x11)
	for range 8000 {
		code = append(code, 0xfd, 0x51)
	}
	vectors := simple(append(code, 0xfd, 0x1b, 0, 0x05, 0x41, 0, 0x0b)...)
	f(1000/32, false, vectors)
	f(1000/32+1, true, vectors)
}

func TestDenied(t *testing.T) {
	r := newRunner(t)
	f := func(pages uint64, want int32) {
		t.Helper()
		if _, _, _, denied := metered(t, r, simple(0x20, 0, 0x40, 0, 0x1a, 0x20, 0, 0x40, 0), 1<<40, pages); denied != want {
			t.Errorf("two times %d pages: %d denied, want %d", pages, denied, want)
		}
	}
	f(0, 0)
	f(1, 0)
	f(2, 1)
	f(3, 2)
	f(math.MaxUint32, 2)
}

// A call of an import costs 50 and is tested before it is made.
func TestImportUnits(t *testing.T) {
	bin := newBuilder().
		section(secType, vector(fnType([]ValType{I32}, []ValType{I32}), fnType(nil, nil))...).
		section(secImport, vector(cat(appendName(nil, "h"), appendName(nil, "call"), []byte{kindFunc, 1}))...).
		section(secFunction, 1, 0).
		section(secMemory, 1, 0, 1).
		section(secExport, vector(export("memory", kindMemory, 0), export("f", kindFunc, 1))...).
		section(secCode, vector(fnBody(nil, 0x20, 0, 0x04, 0x40, 0x10, 0, 0x10, 0, 0x0b, 0x20, 0))...).out
	r := newRunner(t)
	calls := 0
	for _, e := range r.engines {
		if _, err := e.NewHostModuleBuilder("h").NewFunctionBuilder().WithFunc(func() { calls++ }).Export("call").Instantiate(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	f := func(fuel int64, wantOut string, wantUnits int64, wantCalls int) {
		t.Helper()
		calls = 0
		out, units, _, _ := metered(t, r, bin, fuel, 1)
		if out != wantOut || units != wantUnits || calls != wantCalls*len(r.engines) {
			t.Errorf("fuel %d: %s, %d units, %d calls; want %s, %d, %d on each engine", fuel, out, units, calls, wantOut, wantUnits, wantCalls)
		}
	}
	f(1000, "[1]", 103, 2)
	f(103, "[1]", 103, 2)
	f(102, "wasm error: unreachable", 103, 0)
}

// The maximum of the memory is set, the guest's globals are exported in order,
// and nothing of the custom sections but the names is left.
func TestInstrumentModule(t *testing.T) {
	f := func(memory []byte, wantMax uint32) {
		t.Helper()
		bin := newBuilder().
			section(secMemory, memory...).
			section(secGlobal, vector(
				[]byte{byte(I32), 1, byte(opI32Const), 5, byte(opEnd)},
				[]byte{byte(I32), 0, byte(opI32Const), 6, byte(opEnd)},
				[]byte{byte(I64), 1, byte(opI64Const), 7, byte(opEnd)},
			)...).
			section(secExport, vector(export("memory", kindMemory, 0))...).
			section(secCustom, appendName(nil, "producers")...).
			section(secCustom, append(appendName(nil, "name"), 0, 2, 1, 'm')...).out
		out, err := Instrument(bin, Defaults())
		if err != nil {
			t.Fatal(err)
		}
		m, refusal := parse(out)
		if refusal != nil {
			t.Fatal(refusal)
		}
		if mem := m.memories[0]; !mem.hasMax || mem.max != wantMax {
			t.Errorf("maximum: %d, want %d", mem.max, wantMax)
		}
		if strings.Contains(string(out), "producers") || !strings.HasSuffix(string(out), "name\x00\x02\x01m") {
			t.Errorf("custom sections: %q", out)
		}
		r := newRunner(t)
		instance, done := r.open(t, 0, out)
		defer done()
		var got string
		for i := 0; instance.ExportedGlobal(StateGlobal(i)) != nil; i++ {
			got += fmt.Sprint(instance.ExportedGlobal(StateGlobal(i)).Get(), " ")
		}
		if got != "5 7 " {
			t.Errorf("state: %s, want 5 7", got)
		}
	}
	f([]byte{1, 0, 1}, 64)
	f([]byte{1, 1, 1, 10}, 10)
	f([]byte{1, 1, 1, 64}, 64)
	f([]byte{1, 1, 1, 65}, 64)
	f([]byte{1, 0, 64}, 64)
}
