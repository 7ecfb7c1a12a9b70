package policy

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// Numbers of WASI's errors.
const (
	wasiOK     = 0
	wasiBadF   = 8  // bad file descriptor
	wasiFault  = 21 // bad address
	wasiInval  = 28 // invalid argument
	wasiNotSup = 58 // not supported
)

// Bounds on the work of one call. Each call is charged the flat price of an
// import by the rewriter; what it costs beyond is charged here, by size.
const (
	mostRandom  = 4096 // bytes of random_get
	mostIovecs  = 16   // of fd_write
	unitBytes   = 4    // bytes that one unit of fuel pays for
	iovecUnits  = 4
	clockStart  = 1_000_000_000 // a clock that begins at 0 looks unset to the Go runtime
	clockStep   = 1_000         // nanoseconds from reading to reading
	mostClockID = 3
)

// wasi is what one instance's answers depend on. It goes back with the instance.
type wasi struct {
	readings uint64 // of the clock
	drawn    uint64 // 8-byte words of random_get
}

// wasiFunction is a function of wasi_snapshot_preview1 as SPEC.md, section 8,
// lists it.
type wasiFunction struct {
	name   string
	params []wasm.ValType
	void   bool // gives no errno
	answer func(in *instance, arg []uint64) (errno uint64)
}

func (f wasiFunction) results() []wasm.ValType {
	if f.void {
		return nil
	}
	return []wasm.ValType{wasm.I32}
}

var wasiFunctions = []wasiFunction{
	{name: "sched_yield", answer: func(*instance, []uint64) uint64 { return wasiOK }},
	{name: "proc_exit", params: types("i"), void: true, answer: procExit},
	{name: "args_get", params: types("ii"), answer: func(*instance, []uint64) uint64 { return wasiOK }},
	{name: "args_sizes_get", params: types("ii"), answer: noSizes},
	{name: "environ_get", params: types("ii"), answer: func(*instance, []uint64) uint64 { return wasiOK }},
	{name: "environ_sizes_get", params: types("ii"), answer: noSizes},
	{name: "clock_time_get", params: types("iIi"), answer: clockTime},
	{name: "random_get", params: types("ii"), answer: random},
	{name: "fd_write", params: types("iiii"), answer: fdWrite},
	{name: "poll_oneoff", params: types("iiii"), answer: func(*instance, []uint64) uint64 { return wasiNotSup }},
	{name: "fd_close", params: types("i"), answer: badFile},
	{name: "fd_fdstat_get", params: types("ii"), answer: badFile},
	{name: "fd_fdstat_set_flags", params: types("ii"), answer: badFile},
	{name: "fd_prestat_get", params: types("ii"), answer: badFile},
	{name: "fd_prestat_dir_name", params: types("iii"), answer: badFile},
}

// types spells parameter types: i for i32, I for i64.
func types(letters string) []wasm.ValType {
	list := make([]wasm.ValType, len(letters))
	for i, c := range letters {
		list[i] = wasm.I32
		if c == 'I' {
			list[i] = wasm.I64
		}
	}
	return list
}

// instanceKey finds the instance in the context of a call: host functions are
// shared by all instances of a runtime.
type instanceKey struct{}

// callContext is the context of an instance's calls. The engine looks for a value of
// its own in each one: a chain of contexts would make that the longest part of a
// short call.
type callContext struct {
	context.Context
	in *instance
}

// Value implements context.Context.
func (c callContext) Value(key any) any {
	if key == (instanceKey{}) {
		return c.in
	}
	return nil
}

// hostWASI offers the functions to the modules of a runtime.
func hostWASI(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(abi.WASIModule)
	for _, f := range wasiFunctions {
		answer := f.answer
		call := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			stack[0] = answer(ctx.Value(instanceKey{}).(*instance), stack)
		})
		b.NewFunctionBuilder().WithGoModuleFunction(call, engineTypes(f.params), engineTypes(f.results())).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func engineTypes(list []wasm.ValType) []api.ValueType {
	out := make([]api.ValueType, len(list))
	for i, t := range list {
		out[i] = api.ValueType(t)
	}
	return out
}

func badFile(*instance, []uint64) uint64 { return wasiBadF }

// noSizes says that there are no arguments and no environment.
func noSizes(in *instance, arg []uint64) uint64 {
	count, size := in.span(uint32(arg[0]), 4), in.span(uint32(arg[1]), 4)
	if count == nil || size == nil {
		return wasiFault
	}
	clear(count)
	clear(size)
	return wasiOK
}

// clockTime gives a clock that goes on with each reading and with nothing else.
func clockTime(in *instance, arg []uint64) uint64 {
	if uint32(arg[0]) > mostClockID {
		return wasiInval
	}
	at := in.span(uint32(arg[2]), 8)
	if at == nil {
		return wasiFault
	}
	binary.LittleEndian.PutUint64(at, clockStart+clockStep*in.wasi.readings)
	in.wasi.readings++
	return wasiOK
}

// random gives the next bytes of a sequence that depends on the module's digest
// only (splitmix64).
func random(in *instance, arg []uint64) uint64 {
	size := uint32(arg[1])
	if size > mostRandom {
		return wasiInval
	}
	b := in.span(uint32(arg[0]), size)
	if b == nil {
		return wasiFault
	}
	in.charge(len(b) / unitBytes)
	var word [8]byte
	for len(b) > 0 {
		in.wasi.drawn++
		z := in.seed + in.wasi.drawn*0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(word[:], z^z>>31)
		b = b[copy(b, word[:]):]
	}
	return wasiOK
}

// fdWrite takes what the guest prints to its standard output and error. The log
// and the detail of a fault get the beginning of it.
func fdWrite(in *instance, arg []uint64) uint64 {
	fd, list, count := uint32(arg[0]), uint32(arg[1]), uint32(arg[2])
	switch {
	case fd != 1 && fd != 2:
		return wasiBadF
	case count > mostIovecs:
		return wasiInval
	}
	iovecs, written := in.span(list, 8*count), in.span(uint32(arg[3]), 4)
	if iovecs == nil || written == nil {
		return wasiFault
	}
	in.charge(int(count) * iovecUnits)
	total := uint32(0)
	for ; len(iovecs) > 0; iovecs = iovecs[8:] {
		size := binary.LittleEndian.Uint32(iovecs[4:])
		text := in.span(binary.LittleEndian.Uint32(iovecs), size)
		if text == nil {
			return wasiFault
		}
		total += size
		in.print(text)
	}
	binary.LittleEndian.PutUint32(written, total)
	return wasiOK
}

// exited is what proc_exit stops a guest with.
type exited struct{}

func (exited) Error() string { return "proc_exit" }

// procExit stops the guest. What it says of its state is kept for the fault.
func procExit(in *instance, arg []uint64) uint64 {
	in.exit = uint32(arg[0])
	panic(exited{})
}
