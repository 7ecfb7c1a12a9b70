package wasm

// scanner reads one body.
type scanner struct {
	reader
	m      *module
	s      *scan
	frames []frame
	loops  int  // frames that are loops
	open   int  // site that the present stretch is charged at
	called bool // a call may have come back since the last test on some way here
	at     int  // offset of the present instruction
	front  int  // where it begins in scan.code
	height int  // of the operand stack
}

// scanBody reads the body of the function with the given index among the
// defined ones. s is reused from one function to the next.
func (m *module) scanBody(i int, s *scan) *Refusal {
	b := m.bodies[i]
	fn := m.importedFuncs + i
	*s = scan{
		typ:        m.types[m.funcs[fn]],
		tableWrite: -1, segmentDrop: -1, importRef: -1,
		code: s.code[:0], sites: s.sites[:0], callees: s.callees[:0],
	}
	c := &scanner{reader: reader{bin: m.bin, pos: b.from, end: b.to, fn: fn}, m: m, s: s}
	c.locals()
	s.localsTo = len(s.code)
	c.begin(siteEntry, true)
	c.frames = append(c.frames, frame{op: opBlock, outer: dead, results: len(s.typ.results)})
	for len(c.frames) > 0 && c.err == nil {
		c.instruction()
	}
	if c.err == nil && c.pos != c.end {
		c.failAt(c.pos, RuleFormat, "body: %d bytes behind its end", c.end-c.pos)
	}
	return c.err
}

func (c *scanner) locals() {
	n := c.count("local declarations")
	c.copy = &c.s.code
	c.s.groups = n
	c.s.locals = uint64(len(c.s.typ.params))
	for range n {
		at := c.pos
		c.s.locals += uint64(c.u32())
		c.valType()
		// Room for the locals of the meter.
		if c.s.locals > 1<<32-1<<8 {
			c.failAt(at, RuleFormat, "locals: %d, expected at most 32 bits", c.s.locals)
		}
		if c.err != nil {
			return
		}
	}
}

// begin starts a stretch here. Behind a call it is tested: without, each of a
// thousand functions could go through all its code on the way back from the one
// that used the last unit.
func (c *scanner) begin(kind siteKind, test bool) {
	test = test || c.called
	c.called = false
	c.open = len(c.s.sites)
	c.s.sites = append(c.s.sites, site{at: len(c.s.code), kind: kind, test: test})
}

func (c *scanner) charge(units uint64) {
	if c.open != dead {
		c.s.sites[c.open].units += units
	}
}

func (c *scanner) instruction() {
	at := c.pos
	c.at, c.front = at, len(c.s.code)
	op := opcode(c.byte())
	if op == 0xfc || op == 0xfd {
		from := c.pos
		n := c.u32()
		if n > 0xff {
			c.failAt(at, RuleOpcode, "instruction: %#x %#x, expected one of core 2.0", byte(op), n)
			return
		}
		// The engine reads one byte behind 0xfd and takes the second of a number
		// above 127, always 1, for a nop. No compiler pads these.
		if op == 0xfd && c.pos-from != len(appendUnsigned(nil, uint64(n))) {
			c.failAt(at, RuleOpcode, "instruction: %#x %#x in %d bytes, expected its shortest form", byte(op), n, c.pos-from)
			return
		}
		op = op<<8 | opcode(n)
	}
	if c.err != nil {
		return
	}
	c.charge(op.weight())
	switch {
	case op.plain():
		c.operate(op.operands())
	case op.accesses():
		c.access(op)
		c.operate(op.operands())
	case op.lane():
		c.byte()
		c.operate(op.operands())
	case op.within(opUnreachable, opReturn):
		c.control(at, op)
	default:
		c.operand(at, op)
	}
}

// access reads the immediates of a load or a store.
func (c *scanner) access(op opcode) {
	at := c.pos
	// Larger alignments are invalid, and a bit of theirs means another memory
	// in a later version.
	if align := c.u32(); align > 4 {
		c.failAt(at, RuleFormat, "alignment: 2^%d, expected at most 2^4", align)
	}
	c.u32()
	c.needMemory(at)
	if op.lane() {
		c.byte()
	}
}

func (c *scanner) needMemory(at int) { c.below(at, 0, len(c.m.memories), "memory") }

// zero reads the index of the one memory, which later versions make an
// integer.
func (c *scanner) zero() {
	at := c.pos
	if b := c.byte(); c.err == nil && b != 0 {
		c.failAt(at, RuleFormat, "memory index: %#x, expected the byte 0", b)
	}
	c.needMemory(at)
}

// operand reads the immediates of what is neither control nor access, and
// notes what the meter and the verifier must know.
func (c *scanner) operand(at int, op opcode) {
	m, s := c.m, c.s
	switch op {
	case opCall:
		fn := c.index(len(m.funcs), "function")
		switch {
		case c.err != nil:
		case int64(fn) < int64(m.importedFuncs):
			c.charge(weightImport - weightPlain)
			if c.open != dead {
				s.sites[c.open].test = true
			}
			c.pass(m.funcs[fn])
		default:
			s.callees = append(s.callees, fn)
			c.call(m.funcs[fn])
		}
	case opCallIndirect:
		typ := c.index(len(m.types), "type")
		c.index(len(m.tables), "table")
		c.operate(1, 0)
		s.indirect = true
		c.call(typ)
	case opSelectTyped:
		each(&c.reader, "types", func() { c.valType() })
		c.operate(3, 1)
	case opLocalGet, opLocalSet, opLocalTee:
		from := c.pos
		if i := c.u32(); c.err == nil && uint64(i) >= s.locals {
			c.failAt(from, RuleIndex, "local index: %d, expected below %d", i, s.locals)
		}
		c.variable(op, opLocalGet, opLocalSet)
	case opGlobalGet, opGlobalSet:
		c.index(len(m.globals), "global")
		c.variable(op, opGlobalGet, opGlobalSet)
	case opTableGet:
		c.index(len(m.tables), "table")
		c.operate(1, 1)
	case opTableSet:
		c.index(len(m.tables), "table")
		c.operate(2, 0)
	case opTableSize:
		c.index(len(m.tables), "table")
		c.operate(0, 1)
	case opTableGrow:
		c.index(len(m.tables), "table")
		c.operate(2, 1)
	case opTableFill:
		c.index(len(m.tables), "table")
		c.operate(3, 0)
	case opTableCopy:
		c.index(len(m.tables), "table")
		c.index(len(m.tables), "table")
		c.operate(3, 0)
	case opTableInit:
		c.index(m.elements, "element")
		c.index(len(m.tables), "table")
		c.operate(3, 0)
	case opElemDrop:
		c.index(m.elements, "element")
	case opMemoryInit:
		c.index(int(m.dataCount), "data")
		c.zero()
		c.sized()
	case opDataDrop:
		c.index(int(m.dataCount), "data")
	case opMemoryCopy:
		c.zero()
		c.zero()
		c.sized()
	case opMemoryFill:
		c.zero()
		c.sized()
	case opMemorySize:
		c.zero()
		s.sizes = true
		c.operate(0, 1)
	case opMemoryGrow:
		c.zero()
		c.operate(1, 1)
		c.mark(siteGrow)
		s.bulk, s.grows, s.sizes = true, true, true
	case opI32Const:
		c.signed(32)
		c.operate(0, 1)
	case opI64Const:
		c.signed(64)
		c.operate(0, 1)
	case opF32Const:
		c.skip(4)
		c.operate(0, 1)
	case opF64Const:
		c.skip(8)
		c.operate(0, 1)
	case opV128Const:
		c.skip(16)
		c.operate(0, 1)
	case opI8x16Shuffl:
		c.skip(16)
		c.operate(2, 1)
	case opRefNull:
		c.refType()
		c.operate(0, 1)
	case opRefFunc:
		fn := c.index(len(m.funcs), "function")
		if s.importRef < 0 && int64(fn) < int64(m.importedFuncs) {
			s.importRef = at
		}
		c.operate(0, 1)
	default:
		c.failAt(at, RuleOpcode, "instruction: %s, expected one of core 2.0", op)
	}
	switch op {
	case opTableSet, opTableGrow, opTableFill, opTableCopy, opTableInit:
		first(&s.tableWrite, at)
	case opElemDrop, opDataDrop:
		first(&s.segmentDrop, at)
	}
}

// call notes a call of a function of the module.
func (c *scanner) call(typ uint32) {
	c.mark(siteCall)
	c.s.calls = true
	c.called = true
	c.pass(typ)
}

// pass follows the stack over a call of a function of the given type.
func (c *scanner) pass(typ uint32) {
	if c.err == nil {
		t := c.m.types[typ]
		c.operate(len(t.params), len(t.results))
	}
}

func first(offset *int, at int) {
	if *offset < 0 {
		*offset = at
	}
}

// sized notes a bulk operation on the memory.
func (c *scanner) sized() {
	c.mark(siteBulk)
	c.s.bulk = true
	c.operate(3, 0)
}

// variable follows the stack over an access to a local or a global.
func (c *scanner) variable(op, get, set opcode) {
	switch op {
	case get:
		c.operate(0, 1)
	case set:
		c.operate(1, 0)
	default:
		c.operate(1, 1)
	}
}

// mark puts a site in front of the present instruction.
func (c *scanner) mark(kind siteKind) {
	c.s.sites = append(c.s.sites, site{at: c.front, kind: kind})
}
