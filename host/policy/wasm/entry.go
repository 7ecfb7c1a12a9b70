package wasm

// The entries of sections, one function for each.

func (m *module) typeEntry(r *reader) {
	at := r.pos
	if form := r.byte(); form != 0x60 {
		r.failAt(at, RuleFormat, "type: form %#x, expected a function, 0x60", form)
	}
	m.types = append(m.types, funcType{r.valTypes("parameters"), r.valTypes("results")})
}

func (m *module) importEntry(r *reader) {
	e := imported{at: r.pos}
	e.module, e.name = r.name(), r.name()
	at := r.pos
	e.kind = r.byte()
	switch e.kind {
	case kindFunc:
		e.index = r.index(len(m.types), "type")
		m.funcs = append(m.funcs, e.index)
		m.importedFuncs++
	case kindTable:
		m.tables = append(m.tables, r.table())
		m.importedTables++
	case kindMemory:
		m.memories = append(m.memories, r.limits())
		m.importedMemory = true
	case kindGlobal:
		m.globals = append(m.globals, r.globalType())
		m.importedGlobals++
	default:
		r.failAt(at, RuleFormat, "import: kind %d, expected 0 to 3", e.kind)
	}
	m.imports = append(m.imports, e)
}

func (m *module) globalEntry(r *reader) {
	m.globals = append(m.globals, r.globalType())
	// A global's value may refer to the globals before it.
	m.constant(r, len(m.globals)-1)
}

func (m *module) exportEntry(r *reader) {
	e := exported{at: r.pos}
	e.name = r.name()
	at := r.pos
	e.kind = r.byte()
	switch e.kind {
	case kindFunc:
		e.index = r.index(len(m.funcs), "function")
	case kindTable:
		e.index = r.index(len(m.tables), "table")
	case kindMemory:
		e.index = r.index(len(m.memories), "memory")
	case kindGlobal:
		e.index = r.index(len(m.globals), "global")
	default:
		r.failAt(at, RuleFormat, "export: kind %d, expected 0 to 3", e.kind)
	}
	m.exports = append(m.exports, e)
}

// elementEntry reads a segment of a table. The three bits of its flags say
// whether it is passive or declared, names a table (or is declared), and holds
// expressions.
func (m *module) elementEntry(r *reader) {
	at := r.pos
	flags := r.u32()
	if flags > 7 {
		r.failAt(at, RuleFormat, "element: flags %d, expected 0 to 7", flags)
		return
	}
	active, explicit, expressions := flags&1 == 0, flags&2 != 0, flags&4 != 0
	if active {
		table := uint32(0)
		if explicit {
			table = r.u32()
		}
		r.below(at, table, len(m.tables), "table")
		m.constant(r, len(m.globals))
	}
	if !active || explicit {
		at := r.pos
		kind := r.byte()
		if expressions && !ValType(kind).reference() || !expressions && kind != 0 {
			r.failAt(at, RuleFormat, "element: kind %#x, expected functions or a reference type", kind)
		}
	}
	each(r, "items", func() {
		if expressions {
			m.constant(r, len(m.globals))
			return
		}
		at := r.pos
		m.reference(at, r.index(len(m.funcs), "function"))
	})
	m.elements++
}

func (m *module) dataEntry(r *reader) {
	at := r.pos
	flags := r.u32()
	switch flags {
	case 0, 2:
		memory := uint32(0)
		if flags == 2 {
			memory = r.u32()
		}
		r.below(at, memory, len(m.memories), "memory")
		m.constant(r, len(m.globals))
	case 1:
	default:
		r.failAt(at, RuleFormat, "data: flags %d, expected 0 to 2", flags)
	}
	r.skip(r.u32())
	m.data++
}

// constant reads a constant expression: one instruction and its end. Only
// globals below the given number may be named.
func (m *module) constant(r *reader, globals int) {
	at := r.pos
	switch op := opcode(r.byte()); op {
	case opI32Const:
		r.signed(32)
	case opI64Const:
		r.signed(64)
	case opF32Const:
		r.skip(4)
	case opF64Const:
		r.skip(8)
	case opGlobalGet:
		r.index(globals, "global")
	case opRefNull:
		r.refType()
	case opRefFunc:
		m.reference(at, r.index(len(m.funcs), "function"))
	case 0xfd:
		if n := r.u32(); 0xfd<<8|opcode(n) != opV128Const {
			r.failAt(at, RuleFormat, "constant expression: instruction 0xfd %#x, expected v128.const", n)
		}
		r.skip(16)
	default:
		r.failAt(at, RuleFormat, "constant expression: instruction %#x, expected a constant", byte(op))
	}
	at = r.pos
	if b := r.byte(); opcode(b) != opEnd {
		r.failAt(at, RuleFormat, "constant expression: %#x, expected its end after one instruction", b)
	}
}

// reference notes that a function can be called other than by its index.
func (m *module) reference(at int, fn uint32) {
	if int64(fn) < int64(len(m.funcs)) {
		m.referred = append(m.referred, fn)
	}
	if m.importRefAt < 0 && int64(fn) < int64(m.importedFuncs) {
		m.importRefAt = at
	}
}

func (r *reader) index(n int, what string) uint32 {
	at := r.pos
	i := r.u32()
	r.below(at, i, n, what)
	return i
}

func (r *reader) below(at int, i uint32, n int, what string) {
	if r.err == nil && int64(i) >= int64(n) {
		r.failAt(at, RuleIndex, "%s index: %d, expected below %d", what, i, n)
	}
}

func (r *reader) valType() ValType {
	at := r.pos
	v := ValType(r.byte())
	if r.err == nil && !v.known() {
		r.failAt(at, RuleFormat, "value type: %#x, expected one of core 2.0", byte(v))
	}
	return v
}

func (r *reader) valTypes(what string) []byte {
	n := r.count(what)
	from := r.pos
	for range n {
		if r.err != nil {
			return nil
		}
		r.valType()
	}
	if r.err != nil {
		return nil
	}
	return r.bin[from:r.pos]
}

func (r *reader) refType() {
	at := r.pos
	if v := ValType(r.byte()); r.err == nil && !v.reference() {
		r.failAt(at, RuleFormat, "reference type: %#x, expected funcref or externref", byte(v))
	}
}

func (r *reader) table() limited {
	r.refType()
	return r.limits()
}

func (r *reader) limits() limited {
	l := limited{at: r.pos}
	flag := r.byte()
	if flag > 1 {
		r.failAt(l.at, RuleFormat, "limits: flag %#x, expected 0 or 1", flag)
	}
	l.min = r.u32()
	if flag == 1 {
		l.hasMax = true
		l.max = r.u32()
	}
	return l
}

func (r *reader) globalType() globalType {
	g := globalType{at: r.pos}
	g.typ = r.valType()
	at := r.pos
	mutable := r.byte()
	if mutable > 1 {
		r.failAt(at, RuleFormat, "global: mutability %#x, expected 0 or 1", mutable)
	}
	g.mutable = mutable == 1
	return g
}
