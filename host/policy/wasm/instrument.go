package wasm

import (
	"slices"
	"strconv"
	"strings"
)

// The globals that Instrument adds and exports. A module that exports a name
// with their prefix is an error.
const (
	FuelGlobal   = reserved + "fuel"   // mutable i64, units left, 0 at first; below 0 behind a trap = out of fuel
	DepthGlobal  = reserved + "depth"  // mutable i32, calls that may still nest, Limits.Depth at first; below 0 behind a trap = too deep
	DeniedGlobal = reserved + "denied" // mutable i32, how often memory.grow gave -1 since the host set it to 0

	reserved = "poise:"
)

// MeterVersion names what Instrument makes of a module. It rises with every change
// of that: caches know by it that what they hold is of an older meter.
const MeterVersion = 1

// StateGlobal gives the export name of the guest's i-th mutable global, counted
// from 0 without gaps, imported ones included. Memory and these are all that a
// guest that passed Verify can change.
func StateGlobal(i int) string { return reserved + "g" + strconv.Itoa(i) }

// Instrument gives the module with fuel, depth counter and reserved exports.
// The module has passed Verify, or is any valid module of core 2.0: the result
// is valid if and only if the module is. An error is a *Refusal.
func Instrument(bin []byte, l Limits) ([]byte, error) {
	return instrument(bin, l, 0)
}

// instrument is Instrument with the fuel that a start function would find.
func instrument(bin []byte, l Limits, fuel int64) ([]byte, error) {
	m, refusal := parse(bin)
	if refusal != nil {
		return nil, refusal
	}
	w := &writer{m: m, l: l, out: append(make([]byte, 0, len(bin)+len(bin)/2), header...)}
	for _, e := range m.exports {
		if strings.HasPrefix(e.name, reserved) {
			return nil, &Refusal{Rule: RuleReservedName, Func: -1, Offset: e.at, Detail: reservedDetail(e.name, reserved)}
		}
	}
	for _, id := range [...]byte{secType, secImport, secFunction, secTable} {
		w.copy(id)
	}
	if refusal := w.memory(); refusal != nil {
		return nil, refusal
	}
	w.globals(fuel)
	w.exports()
	for _, id := range [...]byte{secStart, secElement, secDataCount} {
		w.copy(id)
	}
	if refusal := w.code(); refusal != nil {
		return nil, refusal
	}
	w.copy(secData)
	w.nameSection()
	return w.out, nil
}

// writer appends the sections of the new module.
type writer struct {
	m   *module
	l   Limits
	out []byte
}

func (w *writer) section(id byte, content []byte) {
	w.out = appendUnsigned(append(w.out, id), uint64(len(content)))
	w.out = append(w.out, content...)
}

func (w *writer) copy(id byte) {
	if s := w.m.sections[id]; s.from > 0 {
		w.section(id, w.m.bin[s.from:s.to])
	}
}

// entries gives what a section holds behind the number of its entries.
func (w *writer) entries(id byte) []byte {
	s := w.m.sections[id]
	if s.from == 0 {
		return nil
	}
	r := reader{bin: w.m.bin, pos: s.from, end: s.to}
	r.u32()
	return w.m.bin[r.pos:r.end]
}

// memory sets the maximum that is missing or above the cap. An imported memory
// is left as it is; Verify refuses it.
func (w *writer) memory() *Refusal {
	if w.m.importedMemory || len(w.m.memories) != 1 {
		w.copy(secMemory)
		return nil
	}
	mem := w.m.memories[0]
	if mem.min > w.l.MemoryPages {
		return &Refusal{Rule: RuleMemory, Func: -1, Offset: mem.at, Detail: tooManyPages(mem, w.l)}
	}
	most := w.l.MemoryPages
	if mem.hasMax {
		most = min(most, mem.max)
	}
	content := appendUnsigned([]byte{1, 1}, uint64(mem.min))
	w.section(secMemory, appendUnsigned(content, uint64(most)))
	return nil
}

func (w *writer) globals(fuel int64) {
	defined := len(w.m.globals) - w.m.importedGlobals
	content := appendUnsigned(nil, uint64(defined)+3)
	content = append(content, w.entries(secGlobal)...)
	content = appendSigned(append(content, byte(I64), 1, byte(opI64Const)), fuel)
	content = append(content, byte(opEnd))
	for _, v := range [...]int32{w.l.Depth, 0} {
		content = appendSigned(append(content, byte(I32), 1, byte(opI32Const)), int64(v))
		content = append(content, byte(opEnd))
	}
	w.section(secGlobal, content)
}

func (w *writer) exports() {
	entries := slices.Clone(w.entries(secExport))
	n := len(w.m.exports)
	add := func(name string, global int) {
		entries = appendName(entries, name)
		entries = appendUnsigned(append(entries, kindGlobal), uint64(global))
		n++
	}
	first := len(w.m.globals)
	add(FuelGlobal, first)
	add(DepthGlobal, first+1)
	add(DeniedGlobal, first+2)
	state := 0
	for i, g := range w.m.globals {
		if g.mutable {
			add(StateGlobal(state), i)
			state++
		}
	}
	w.section(secExport, append(appendUnsigned(nil, uint64(n)), entries...))
}

func (w *writer) code() *Refusal {
	if w.m.sections[secCode].from == 0 {
		return nil
	}
	content := appendUnsigned(nil, uint64(len(w.m.bodies)))
	var s scan
	var fn []byte
	for i := range w.m.bodies {
		if refusal := w.m.scanBody(i, &s); refusal != nil {
			refusal.Name = w.m.functionName(w.m.importedFuncs + i)
			return refusal
		}
		fn = newMeter(w.m, &s, fn[:0]).body()
		content = appendUnsigned(content, uint64(len(fn)))
		content = append(content, fn...)
	}
	w.section(secCode, content)
	return nil
}

func (w *writer) nameSection() {
	if s := w.m.names; s.from > 0 {
		w.section(secCustom, append(appendName(nil, "name"), w.m.bin[s.from:s.to]...))
	}
}
