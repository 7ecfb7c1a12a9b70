package policy

import (
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy/wasm"
)

// Limits bound what a plugin can use. Fuel is in weighted units, see package
// wasm.
type Limits struct {
	Module        wasm.Limits
	GoMemoryPages uint32 // memory of a module that imports WASI, in place of Module.MemoryPages

	CallFuel   int64 // one call of filter or score; bounds how long a guest holds up the daemon
	GoCallFuel int64 // the same for a module that imports WASI: more memory makes slower loads
	SetupFuel  int64 // everything before the first call
	JobFuel    int64 // one job: JobFuel + rows * RowFuel, and ShapeFuel per row, shape and device slot where the profile is wanted
	RowFuel    int64
	ShapeFuel  int64

	Compile       time.Duration // CPU time of compiling; wall-clock time may be three times as long
	CompileMemory int64         // bytes
}

// Defaults gives the limits of an installation that sets none.
func Defaults() Limits {
	return Limits{
		Module:        wasm.Defaults(),
		GoMemoryPages: 256,
		CallFuel:      1_000_000,
		GoCallFuel:    300_000,
		SetupFuel:     20_000_000,
		JobFuel:       1_000_000,
		RowFuel:       16_384,
		ShapeFuel:     64,
		Compile:       10 * time.Second,
		CompileMemory: 1 << 30,
	}
}

// mostMemoryPages is what a memory of core WebAssembly can have.
const mostMemoryPages = 65536

// validate names the first limit that makes no sense.
func (l Limits) validate() error {
	for _, v := range []struct {
		name        string
		value, most int64
	}{
		{"module bytes", int64(l.Module.Bytes), 1 << 30},
		{"functions", int64(l.Module.Functions), 1 << 20},
		{"function body", int64(l.Module.Body), 1 << 30},
		{"control targets", int64(l.Module.Targets), 1 << 30},
		{"control targets x locals", int64(l.Module.TargetsByLocals), 1 << 40},
		{"total control targets x locals", int64(l.Module.TotalTargetsByLocals), 1 << 40},
		{"memory pages", int64(l.Module.MemoryPages), mostMemoryPages},
		{"go memory pages", int64(l.GoMemoryPages), mostMemoryPages},
		{"call depth", int64(l.Module.Depth), mostDepth},
		{"call fuel", l.CallFuel, 1 << 40},
		{"go call fuel", l.GoCallFuel, 1 << 40},
		{"set-up fuel", l.SetupFuel, 1 << 40},
		{"job fuel", l.JobFuel, 1 << 40},
		{"row fuel", l.RowFuel, 1 << 40},
		{"shape fuel", l.ShapeFuel, 1 << 40},
		{"compile time", int64(l.Compile), int64(time.Hour)},
		{"compile memory", l.CompileMemory, 1 << 40},
	} {
		if v.value < 1 || v.value > v.most {
			return &poise.Error{Kind: poise.Invalid, Op: "policy limits", Detail: fmt.Sprintf("%s: %d, expected 1 to %d", v.name, v.value, v.most)}
		}
	}
	return nil
}

// mostDepth stays below the 2,000 frames at which the interpreter of the engine
// stops by itself.
const mostDepth = 1900
