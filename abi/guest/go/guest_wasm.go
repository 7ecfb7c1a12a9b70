package poise

import (
	"runtime"
	"unsafe"
)

// guest is what the exports share: a module has one plugin, and the host calls
// it from one thread.
var guest struct {
	plugin   *Plugin
	manifest []byte
	header   [2]uint32 // pointer and length of the manifest
	kept     [][]uint64
	given    uint64 // bytes of kept
}

func register(p *Plugin) {
	if guest.plugin != nil {
		panic("a module has one plugin, and " + guest.plugin.name + " is declared already")
	}
	guest.plugin = p
}

func pointer[T any](p *T) uint32 { return uint32(uintptr(unsafe.Pointer(p))) }

//go:wasmexport poise_abi_v1
func abiVersion() uint32 { return 0 }

//go:wasmexport poise_describe
func describe() uint32 {
	guest.manifest = guest.plugin.Manifest()
	guest.header = [2]uint32{pointer(&guest.manifest[0]), uint32(len(guest.manifest))}
	return pointer(&guest.header[0])
}

// most is how many bytes alloc gives in all. Beyond it the host asks for fewer
// rows; the Go runtime would rather end the module than say that it has no more
// memory.
const most = 10 << 20

//go:wasmexport poise_alloc
func alloc(size, align uint32) uint32 {
	if guest.given+uint64(size)+uint64(align) > most {
		return 0
	}
	block := make([]uint64, (size+align)/8+2)
	guest.kept = append(guest.kept, block)
	guest.given += uint64(8 * len(block))
	// The collection is run here and to its end, where it is part of set-up.
	// Nothing is allocated afterwards, so none falls due in a call.
	runtime.GC()
	at := pointer(&block[0])
	return (at + align - 1) / align * align
}

//go:wasmimport wasi_snapshot_preview1 proc_exit
func exit(code int32)

// EndOnPanic is deferred by the exports: a panic becomes a trap at once, after a
// line that shows under plugin run and test. Go's own way to end prints every
// goroutine, for which the fuel of a call is not enough, so that the fault would
// say fuel.
func EndOnPanic() {
	switch v := recover().(type) {
	case nil:
		return
	case error:
		println("panic:", v.Error())
	case string:
		println("panic:", v)
	default:
		println("panic")
	}
	exit(2)
}
