package wasm

// module is what a binary declares, code aside. Its slices point into the
// binary where they can.
type module struct {
	bin      []byte
	types    []funcType
	imports  []imported
	funcs    []uint32 // type of each function, imported ones first
	tables   []limited
	memories []limited
	globals  []globalType
	exports  []exported
	elements int
	data     int
	bodies   []body

	importedFuncs   int
	importedGlobals int
	importedTables  int
	importedMemory  bool

	hasStart, hasDataCount bool
	startAt                int
	dataCount              uint32
	dataCountAt            int
	importRefAt            int      // where an element or a global names an imported function, -1 if nowhere
	referred               []uint32 // functions that elements and globals name

	sections [numSections]span // contents, from = 0 if absent
	names    span              // contents of the name section, its name aside
}

// span is a part of a binary.
type span struct{ from, to int }

// body is a function's code: its locals and instructions.
type body struct {
	span
	at int // offset of its length
}

type funcType struct{ params, results []byte }

func (t funcType) signature() Signature {
	types := func(b []byte) []ValType {
		var v []ValType
		for _, x := range b {
			v = append(v, ValType(x))
		}
		return v
	}
	return Signature{types(t.params), types(t.results)}
}

type imported struct {
	module, name string
	kind         byte
	index        uint32 // of the type, if it is a function
	at           int
}

// limited is a table or a memory: a size that can grow.
type limited struct {
	min, max uint32
	hasMax   bool
	at       int
}

type globalType struct {
	typ     ValType
	mutable bool
	at      int
}

type exported struct {
	name  string
	kind  byte
	index uint32
	at    int
}

// Kinds of imports and exports.
const (
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
)

// Sections by number.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	numSections
)

// sectionOrder gives the place of each section in a module: the number of data
// segments comes before the code.
var sectionOrder = [numSections]int{
	secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6, secExport: 7, secStart: 8,
	secElement: 9, secDataCount: 10, secCode: 11, secData: 12,
}

const header = "\x00asm\x01\x00\x00\x00"

// parse reads a module up to its function bodies, whose bounds it notes.
func parse(bin []byte) (*module, *Refusal) {
	m := &module{bin: bin, importRefAt: -1}
	r := &reader{bin: bin, end: len(bin), fn: -1}
	if len(bin) < len(header) || string(bin[:len(header)]) != header {
		r.failAt(0, RuleFormat, "header: expected a WebAssembly binary of version 1")
		return nil, r.err
	}
	r.pos = len(header)
	last := 0
	for r.pos < r.end && r.err == nil {
		at := r.pos
		id := r.byte()
		s := r.sub(r.u32())
		switch {
		case s.err != nil:
			return nil, s.err
		case id == secCustom:
			m.custom(&s)
		case id >= numSections:
			r.failAt(at, RuleFormat, "section: %d, expected at most %d", id, numSections-1)
		case sectionOrder[id] <= last:
			r.failAt(at, RuleFormat, "section: %d, expected once and in order", id)
		default:
			last = sectionOrder[id]
			m.sections[id] = span{s.pos, s.end}
			m.section(id, &s)
			if s.err == nil && s.pos != s.end {
				s.failAt(s.pos, RuleFormat, "section %d: %d bytes too long", id, s.end-s.pos)
			}
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if r.err == nil {
		m.consistent(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// consistent checks what only holds once all sections are read.
func (m *module) consistent(r *reader) {
	if defined := len(m.funcs) - m.importedFuncs; defined != len(m.bodies) {
		r.failAt(m.sections[secCode].from, RuleFormat, "code: %d bodies, expected one for each of the %d functions", len(m.bodies), defined)
	}
	if m.hasDataCount && int64(m.dataCount) != int64(m.data) {
		r.failAt(m.dataCountAt, RuleFormat, "data count: %d, expected the %d data segments", m.dataCount, m.data)
	}
	// Instrument lowers the maximum, which must not mend a wrong one.
	const pages = 1 << 16
	for _, mem := range m.memories {
		if mem.min > pages || mem.hasMax && (mem.max > pages || mem.max < mem.min) {
			r.failAt(mem.at, RuleFormat, "memory: %d to %d pages, expected at most %d and in order", mem.min, mem.max, pages)
		}
	}
}

// custom keeps the bounds of the name section and skips the others.
func (m *module) custom(r *reader) {
	at := r.pos
	if r.name() != "name" || r.err != nil {
		return
	}
	if m.names.from > 0 {
		r.failAt(at, RuleFormat, "name section: expected once")
	}
	m.names = span{r.pos, r.end}
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secType:
		each(r, "types", func() { m.typeEntry(r) })
	case secImport:
		each(r, "imports", func() { m.importEntry(r) })
	case secFunction:
		each(r, "functions", func() { m.funcs = append(m.funcs, r.index(len(m.types), "type")) })
	case secTable:
		each(r, "tables", func() { m.tables = append(m.tables, r.table()) })
	case secMemory:
		each(r, "memories", func() { m.memories = append(m.memories, r.limits()) })
	case secGlobal:
		each(r, "globals", func() { m.globalEntry(r) })
	case secExport:
		each(r, "exports", func() { m.exportEntry(r) })
	case secStart:
		m.hasStart, m.startAt = true, r.pos
		r.index(len(m.funcs), "function")
	case secElement:
		each(r, "elements", func() { m.elementEntry(r) })
	case secDataCount:
		m.hasDataCount, m.dataCountAt = true, r.pos
		m.dataCount = r.u32()
	case secCode:
		each(r, "bodies", func() {
			at := r.pos
			s := r.sub(r.u32())
			m.bodies = append(m.bodies, body{span{s.pos, s.end}, at})
		})
	case secData:
		each(r, "data segments", func() { m.dataEntry(r) })
	}
}

// each reads a vector.
func each(r *reader, what string, entry func()) {
	at := r.pos
	n := r.count(what)
	if n > maxEntries {
		r.failAt(at, RuleFormat, "%s: %d, expected at most %d", what, n, maxEntries)
		return
	}
	for ; n > 0 && r.err == nil; n-- {
		entry()
	}
}
