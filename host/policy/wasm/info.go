package wasm

import "strings"

// Info is what a module that passed Verify declares.
type Info struct {
	Imports   []Import
	Exports   []Export
	Functions int // defined ones
	Globals   int // mutable ones, exported by Instrument as StateGlobal(0) and on
	Code      int // bytes of the code section
	Data      int // bytes of the data section
	MemoryMin uint32
	MemoryMax uint32 // as declared; Instrument sets what is missing or too large to the cap
	HasMax    bool

	Targets              int // largest number of control targets in a function
	TargetsByLocals      int // largest product in a function
	TotalTargetsByLocals int
	LargestBody          int // bytes

	ImportsWASI bool // as modules of stock Go do
}

// Import is a function that the module asks for.
type Import struct{ Module, Name string }

// Export is a name that the module offers.
type Export struct {
	Name  string
	Kind  byte // 0 function, 1 table, 2 memory, 3 global
	Sizes bool // a call of it can come to memory.size or memory.grow
}

func (m *module) info() *Info {
	mem := m.memories[0]
	i := &Info{
		Functions: len(m.bodies),
		Code:      m.sections[secCode].to - m.sections[secCode].from,
		Data:      m.sections[secData].to - m.sections[secData].from,
		MemoryMin: mem.min, MemoryMax: mem.max, HasMax: mem.hasMax,
	}
	for _, e := range m.imports {
		i.Imports = append(i.Imports, Import{e.module, e.name})
		i.ImportsWASI = i.ImportsWASI || strings.HasPrefix(e.module, "wasi_")
	}
	for _, e := range m.exports {
		i.Exports = append(i.Exports, Export{Name: e.name, Kind: e.kind})
	}
	for _, g := range m.globals {
		if g.mutable {
			i.Globals++
		}
	}
	return i
}
