package policy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// instance is one guest with its memory. It belongs to one goroutine at a time.
type instance struct {
	ctx    context.Context // of every call: host functions find the instance in it
	code   *code
	module api.Module
	mem    api.Memory
	log    func(line string)
	seed   uint64 // of random_get

	fuel, depth, denied api.MutableGlobal
	state               []api.MutableGlobal // of the guest
	functions           map[string]api.Function
	filter, score       api.Function // of those
	nesting             uint64       // what depth is set to
	setup               int64        // fuel left for set-up

	stack [3]uint64 // arguments and result of a call
	wasi  wasi
	said  []byte // the beginning of what the guest printed in this call
	line  []byte // what it printed since the last line's end
	exit  uint32 // argument of proc_exit
	dead  *Fault // the fault after which nothing is called any more
	image image
	pages *pages // of a large memory, nil of others
	heap  *heap  // of those
	leak  runtime.Cleanup
}

// largePages is the least memory, in pages of 64 KiB, that is set back by giving
// pages up. Clearing a small one takes less time than a page fault.
const largePages = 16

// setUp makes an instance and runs it up to its manifest.
func (m *machine) setUp(c *code) (in *instance, manifest []byte, minor int, f *Fault) {
	in = &instance{code: c, log: m.log, nesting: uint64(m.Limits.Module.Depth), setup: m.Limits.SetupFuel, said: make([]byte, 0, mostSaid)}
	in.seed = binary.LittleEndian.Uint64([]byte(strings.TrimPrefix(c.digest, "sha256:")))
	// Cancellation of whoever loads has nothing to do with the calls to come.
	in.ctx = callContext{context.Background(), in}
	if c.info.MemoryMin >= largePages {
		in.pages = newPages(int(m.limitsFor(c.info).Module.MemoryPages) << 16)
	}
	var allocate experimental.MemoryAllocatorFunc
	if in.pages != nil {
		in.leak = runtime.AddCleanup(in, (*pages).free, in.pages)
		allocate = in.pages.allocate
	} else {
		in.heap = &heap{}
		allocate = in.heap.allocate
	}
	setUpCtx := experimental.WithMemoryAllocator(in.ctx, allocate)
	module, err := m.runtime.InstantiateModule(setUpCtx, c.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		in.freePages()
		return nil, nil, 0, &Fault{Code: abi.CodeTrap, Digest: c.digest, Detail: "instantiate", Err: errors.New(firstLine(err))}
	}
	in.module, in.mem = module, module.Memory()
	in.bind()
	manifest, minor, f = in.introduce()
	if f != nil {
		in.close()
		return nil, nil, 0, f
	}
	return in, manifest, minor, nil
}

// bind looks up what calls need, so that none of them has to.
func (in *instance) bind() {
	global := func(name string) api.MutableGlobal {
		g, ok := in.module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			panic("BUG: Instrument did not export " + name)
		}
		return g
	}
	in.fuel, in.depth, in.denied = global(wasm.FuelGlobal), global(wasm.DepthGlobal), global(wasm.DeniedGlobal)
	for i := range in.code.info.Globals {
		in.state = append(in.state, global(wasm.StateGlobal(i)))
	}
	in.functions = map[string]api.Function{}
	for _, name := range []string{abi.Initialize, abi.Marker, abi.Describe, abi.Alloc, abi.Filter, abi.Score} {
		if f := in.module.ExportedFunction(name); f != nil {
			in.functions[name] = f
		}
	}
	in.filter, in.score = in.functions[abi.Filter], in.functions[abi.Score]
}

// introduce runs _initialize, the marker and describe.
func (in *instance) introduce() (manifest []byte, minor int, f *Fault) {
	if in.functions[abi.Initialize] != nil {
		if f := in.prepare(abi.Initialize); f != nil {
			return nil, 0, f
		}
	}
	if f := in.prepare(abi.Marker); f != nil {
		return nil, 0, f
	}
	if v := int32(in.stack[0]); v < 0 || v > abi.Minor {
		return nil, 0, in.fail(abi.CodeABIMismatch, abi.Marker, fmt.Sprintf("minor version: %d, expected 0 to %d", v, abi.Minor))
	}
	minor = int(int32(in.stack[0]))
	if f := in.prepare(abi.Describe); f != nil {
		return nil, 0, f
	}
	pointer := uint32(in.stack[0])
	pair := in.span(pointer, 8)
	if pair == nil || pointer == 0 || pointer%4 != 0 {
		return nil, 0, in.fail(abi.CodeBadOutput, abi.Describe, fmt.Sprintf("result: %#x, expected a pointer to {pointer, length}, not 0, a multiple of 4 within memory", pointer))
	}
	at, size := binary.LittleEndian.Uint32(pair), binary.LittleEndian.Uint32(pair[4:])
	if size > abi.MaxManifest {
		return nil, 0, in.fail(abi.CodeBadOutput, abi.Describe, fmt.Sprintf("length of the manifest: %d, expected at most %d", size, abi.MaxManifest))
	}
	text := in.span(at, size)
	if text == nil || at == 0 {
		return nil, 0, in.fail(abi.CodeBadOutput, abi.Describe, fmt.Sprintf("manifest: %d bytes at %#x, expected a range within memory that does not begin at 0", size, at))
	}
	return text, minor, nil
}

// prepare calls an export under what is left of the set-up fuel. The result is
// in stack[0].
func (in *instance) prepare(export string, args ...uint64) *Fault {
	clear(in.stack[:])
	copy(in.stack[:], args)
	used, f := in.run(export, in.setup)
	in.setup -= min(used, in.setup)
	return f
}

// alloc asks the guest for memory at a multiple of 8. 0 = it has none.
func (in *instance) alloc(size uint32) (uint32, error) {
	if f := in.prepare(abi.Alloc, uint64(size), 8); f != nil {
		return 0, f
	}
	pointer := uint32(in.stack[0])
	switch {
	case pointer == 0:
		return 0, nil
	case pointer%8 != 0 || in.span(pointer, size) == nil:
		return 0, in.fail(abi.CodeBadOutput, abi.Alloc, fmt.Sprintf("result: %#x, expected a multiple of 8 with %d bytes behind it in memory", pointer, size))
	}
	return pointer, nil
}

// call runs filter or score with so much fuel and gives what it used. It does
// not allocate unless there is a fault.
func (in *instance) call(export string, fuel int64, table, job, out uint32) (used int64, f *Fault) {
	in.stack = [3]uint64{uint64(table), uint64(job), uint64(out)}
	used, f = in.run(export, fuel)
	if f != nil {
		return used, f
	}
	if status := int32(in.stack[0]); status != 0 {
		return used, in.fail(in.blame(abi.CodeStatus), export, fmt.Sprintf("result: %d, expected 0", status))
	}
	return used, nil
}

// run calls an export with the arguments in the stack.
func (in *instance) run(export string, fuel int64) (used int64, f *Fault) {
	if in.dead != nil {
		return 0, in.code.fail(in.dead.Code, export, "instance: had a fault before, expected a new instance")
	}
	var fn api.Function
	switch export {
	case abi.Filter:
		fn = in.filter
	case abi.Score:
		fn = in.score
	default:
		fn = in.functions[export]
	}
	if fn == nil {
		return 0, in.fail(abi.CodeMissingExport, export, "not exported, expected a function")
	}
	in.fuel.Set(uint64(fuel))
	in.depth.Set(in.nesting)
	in.denied.Set(0)
	in.said = in.said[:0]
	err := fn.CallWithStack(in.ctx, in.stack[:])
	left := int64(in.fuel.Get())
	used = fuel - left
	switch {
	case left < 0:
		return used, in.fail(abi.CodeFuel, export, fmt.Sprintf("more than %d units, expected at most that", fuel))
	case err == nil:
		return used, nil
	case int32(in.depth.Get()) < 0:
		return used, in.fail(abi.CodeDepth, export, fmt.Sprintf("calls nested deeper than %d, expected at most that", in.nesting))
	}
	return used, in.trapped(export, err)
}

// trapped names the trap that ended a call.
func (in *instance) trapped(export string, err error) *Fault {
	detail := firstLine(err)
	code := abi.CodeTrap
	switch {
	case errors.Is(err, exited{}):
		detail = fmt.Sprintf("the guest gave up with proc_exit(%d)", in.exit)
	case detail == stackOverflow:
		// Frames so large that the stack was full before the depth was reached.
		code = abi.CodeDepth
	}
	if said := strings.TrimSpace(printable(string(in.said))); said != "" {
		detail += fmt.Sprintf(", it said %q", said)
	}
	return in.fail(in.blame(code), export, detail)
}

// stackOverflow is how the engine calls a full stack.
const stackOverflow = "stack overflow"

// blame finds the cause behind a failure: a guest that was denied memory often
// ends in a trap or a status of its own.
func (in *instance) blame(code abi.Code) abi.Code {
	if in.denied.Get() != 0 {
		return abi.CodeMemory
	}
	return code
}

// fail makes the fault of a call. The instance is not used again.
func (in *instance) fail(code abi.Code, export, detail string) *Fault {
	if code == abi.CodeMemory {
		detail = fmt.Sprintf("memory.grow denied at %d pages: %s", in.mem.Size()>>16, detail)
	}
	in.dead = in.code.fail(code, export, detail)
	f := *in.dead
	return &f
}

// firstLine drops the engine's stack trace and its words around the cause.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "wasm error: ")
	return strings.TrimSuffix(line, " (recovered by wazero)")
}

// charge takes fuel for the work of a host function beyond its flat price. A
// guest that has none left stops at its next test.
func (in *instance) charge(units int) {
	in.fuel.Set(in.fuel.Get() - uint64(units))
}

// span gives a range of memory, or nil if it is not all there.
func (in *instance) span(pointer, size uint32) []byte {
	b, ok := in.mem.Read(pointer, size)
	if !ok {
		return nil
	}
	return b
}

// memory gives the whole memory as it is now. A call may move it: take it anew
// after each one.
func (in *instance) memory() []byte { return in.span(0, in.mem.Size()) }

// close frees the instance.
func (in *instance) close() {
	// Nothing of an instance can fail to close: it has no files.
	_ = in.module.Close(in.ctx)
	in.freePages()
}

func (in *instance) freePages() {
	in.leak.Stop()
	in.pages.free()
}
