package wasm

// scan is what one pass over a function's body finds: facts for the verifier,
// and the sites at which the meter inserts code.
type scan struct {
	typ      funcType
	locals   uint64 // parameters included
	groups   int    // entries of the local declarations
	localsTo int    // end of these in code
	targets  int    // control targets, see Limits

	tableWrite  int // offsets of the first of its kind, -1 if none
	segmentDrop int
	importRef   int

	code  []byte // local declarations without their number, then instructions
	sites []site
	calls bool // calls a function of the module, so it hands on its depth
	bulk  bool // needs a local for the length of a bulk operation or memory.grow
	grows bool
}

// site is a place in front of which code goes.
type site struct {
	at    int // in scan.code
	kind  siteKind
	units uint64 // of a charge
	test  bool
}

type siteKind byte

const (
	siteCharge siteKind = iota
	siteEntry
	siteCall
	siteBulk
	siteGrow
)

// frame is a construct that is open. Stretches of code run together or not at
// all on the way to a normal return, and share one charge: what follows a
// construct belongs to the stretch in front of it, unless a branch inside
// leads further out.
type frame struct {
	op     opcode
	outer  int // site of the stretch in front of it
	lowest int // outermost frame that a branch inside leads to
}

// dead stands for the site of a stretch that no path leads to.
const dead = -1

type scanner struct {
	reader
	m      *module
	s      *scan
	frames []frame
	loops  int // frames that are loops
	open   int // site that the present stretch is charged at
	front  int // where the present instruction begins in scan.code
}

// scanBody reads the body of the function with the given index among the
// defined ones. s is reused from one function to the next.
func (m *module) scanBody(i int, s *scan) *Refusal {
	b := m.bodies[i]
	fn := m.importedFuncs + i
	*s = scan{
		typ:        m.types[m.funcs[fn]],
		tableWrite: -1, segmentDrop: -1, importRef: -1,
		code: s.code[:0], sites: s.sites[:0],
	}
	c := &scanner{reader: reader{bin: m.bin, pos: b.from, end: b.to, fn: fn}, m: m, s: s}
	c.locals()
	s.localsTo = len(s.code)
	c.begin(siteEntry, true)
	c.frames = append(c.frames, frame{op: opBlock, outer: dead})
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

// begin starts a stretch here.
func (c *scanner) begin(kind siteKind, test bool) {
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
	c.front = len(c.s.code)
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
	case op.accesses():
		c.access(op)
	case op.lane():
		c.byte()
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
		default:
			c.mark(siteCall)
			s.calls = true
		}
	case opCallIndirect:
		c.index(len(m.types), "type")
		c.index(len(m.tables), "table")
		c.mark(siteCall)
		s.calls = true
	case opSelectTyped:
		each(&c.reader, "types", func() { c.valType() })
	case opLocalGet, opLocalSet, opLocalTee:
		from := c.pos
		if i := c.u32(); c.err == nil && uint64(i) >= s.locals {
			c.failAt(from, RuleIndex, "local index: %d, expected below %d", i, s.locals)
		}
	case opGlobalGet, opGlobalSet:
		c.index(len(m.globals), "global")
	case opTableGet, opTableSet, opTableSize, opTableGrow, opTableFill:
		c.index(len(m.tables), "table")
	case opTableCopy:
		c.index(len(m.tables), "table")
		c.index(len(m.tables), "table")
	case opTableInit:
		c.index(m.elements, "element")
		c.index(len(m.tables), "table")
	case opElemDrop:
		c.index(m.elements, "element")
	case opMemoryInit:
		c.index(int(m.dataCount), "data")
		c.zero()
		c.mark(siteBulk)
		s.bulk = true
	case opDataDrop:
		c.index(int(m.dataCount), "data")
	case opMemoryCopy:
		c.zero()
		c.zero()
		c.mark(siteBulk)
		s.bulk = true
	case opMemoryFill:
		c.zero()
		c.mark(siteBulk)
		s.bulk = true
	case opMemorySize:
		c.zero()
	case opMemoryGrow:
		c.zero()
		c.mark(siteGrow)
		s.bulk, s.grows = true, true
	case opI32Const:
		c.signed(32)
	case opI64Const:
		c.signed(64)
	case opF32Const:
		c.skip(4)
	case opF64Const:
		c.skip(8)
	case opV128Const, opI8x16Shuffl:
		c.skip(16)
	case opRefNull:
		c.refType()
	case opRefFunc:
		fn := c.index(len(m.funcs), "function")
		if s.importRef < 0 && int64(fn) < int64(m.importedFuncs) {
			s.importRef = at
		}
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

func first(offset *int, at int) {
	if *offset < 0 {
		*offset = at
	}
}

// mark puts a site in front of the present instruction.
func (c *scanner) mark(kind siteKind) {
	c.s.sites = append(c.s.sites, site{at: c.front, kind: kind})
}
