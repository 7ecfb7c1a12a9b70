package wasm

// generator makes a valid module out of bytes: control flow with values,
// calls, recursion, memory, bulk operations, globals, and some vectors. Bytes
// that have run out read as 0, which everywhere picks what ends soonest.
type generator struct {
	in      []byte
	vectors bool // may use SIMD, which the reference does not know
	sigs    []Signature
	fns     []int // signature of each function
	code    []byte
	locals  []ValType
	results []ValType
	labels  [][]ValType // what a branch to each takes along, outermost first
	size    int         // instructions left in this function
}

const (
	genGlobals = 4 // i32, i64, i32, i64, all mutable
	genData    = 64
	genSlots   = 6
)

func (g *generator) pick(n int) int {
	if len(g.in) == 0 || n == 0 {
		return 0
	}
	v := g.in[0]
	g.in = g.in[1:]
	return int(v) % n
}

func (g *generator) put(b ...byte)        { g.code = append(g.code, b...) }
func (g *generator) index(op byte, i int) { g.code = appendUnsigned(append(g.code, op), uint64(i)) }

func (g *generator) module() []byte {
	a, b := I32, I64
	g.sigs = []Signature{
		{nil, []ValType{a}},
		{[]ValType{a}, []ValType{a}},
		{[]ValType{a, b}, []ValType{b, a}},
		{[]ValType{b, a}, nil},
		{[]ValType{a, b}, []ValType{a, b}}, // also types of constructs
		{[]ValType{a}, []ValType{b, a}},
		{nil, []ValType{a, b}},
	}
	n := 1 + g.pick(4)
	g.fns = []int{1}
	for range n - 1 {
		g.fns = append(g.fns, g.pick(4))
	}
	var typeEntries, bodies, exports [][]byte
	for _, s := range g.sigs {
		typeEntries = append(typeEntries, fnType(s.Params, s.Results))
	}
	functions := appendUnsigned(nil, uint64(n))
	slots := appendUnsigned([]byte{0, byte(opI32Const), 0, byte(opEnd)}, genSlots)
	for i, s := range g.fns {
		functions = append(functions, byte(s))
		bodies = append(bodies, g.function(s))
		exports = append(exports, export(string(rune('a'+i)), kindFunc, uint64(i)))
	}
	for i := range genSlots {
		slots = append(slots, byte(i%n))
	}
	exports = append(exports, export("memory", kindMemory, 0))
	var globals [][]byte
	for i := range genGlobals {
		t, op := a, opI32Const
		if i%2 == 1 {
			t, op = b, opI64Const
		}
		globals = append(globals, []byte{byte(t), 1, byte(op), byte(g.pick(64)), byte(opEnd)})
	}
	return newBuilder().
		section(secType, vector(typeEntries...)...).
		section(secFunction, functions...).
		section(secTable, 1, byte(FuncRef), 0, genSlots+2).
		section(secMemory, 1, 1, 1, 3).
		section(secGlobal, vector(globals...)...).
		section(secExport, vector(exports...)...).
		section(secElement, vector(slots)...).
		section(secDataCount, 1).
		section(secCode, vector(bodies...)...).
		section(secData, vector(cat([]byte{1}, sized(make([]byte, genData))))...).
		out
}

func (g *generator) function(sig int) []byte {
	s := g.sigs[sig]
	g.locals = append(append([]ValType(nil), s.Params...), I32, I32, I64)
	g.results, g.labels, g.code, g.size = s.Results, [][]ValType{s.Results}, nil, 60
	g.block(3)
	for _, t := range s.Results {
		g.value(t, 2)
	}
	// More locals than are free, now and then.
	more := byte(g.pick(4) * 40)
	return fnBody([][]byte{{2, byte(I32)}, {1, byte(I64)}, {more, byte(I32)}}, g.code...)
}

// block writes some statements.
func (g *generator) block(depth int) {
	for n := g.pick(5); n > 0 && g.size > 0; n-- {
		g.statement(depth)
	}
}

func (g *generator) local(t ValType) int {
	for i := g.pick(len(g.locals)); ; i = (i + 1) % len(g.locals) {
		if g.locals[i] == t {
			return i
		}
	}
}

func (g *generator) global(t ValType) int {
	i := g.pick(genGlobals/2) * 2
	if t == I64 {
		i++
	}
	return i
}

func (g *generator) kind() ValType {
	if g.pick(3) == 2 {
		return I64
	}
	return I32
}

// address writes a small address, now and then one near or beyond the end.
func (g *generator) address() {
	switch g.pick(16) {
	case 15:
		g.value(I32, 1)
	case 14:
		g.code = appendSigned(append(g.code, byte(opI32Const)), 65530)
	default:
		g.value(I32, 1)
		g.code = appendSigned(append(g.code, byte(opI32Const)), 0xfff)
		g.put(0x71)
	}
}

// length writes the length of a bulk operation.
func (g *generator) length() {
	n := []int64{0, 7, 16, 100, 3000, 40000, -1}[g.pick(7)]
	g.code = appendSigned(append(g.code, byte(opI32Const)), n)
}

// inside writes a construct of the given type and what is in it.
func (g *generator) inside(op byte, blockType byte, takes []ValType, what func()) {
	g.put(op, blockType)
	g.labels = append(g.labels, takes)
	what()
	g.labels = g.labels[:len(g.labels)-1]
	g.put(byte(opEnd))
}

// branch writes a branch, with the values that its label takes.
func (g *generator) branch(op byte, depth int) {
	l := g.pick(len(g.labels))
	for _, t := range g.labels[len(g.labels)-1-l] {
		g.value(t, depth)
	}
	if op == byte(opBrIf) {
		g.value(I32, depth)
	}
	g.index(op, l)
	if op == byte(opBrIf) {
		for range g.labels[len(g.labels)-1-l] {
			g.put(0x1a)
		}
	}
}

func (g *generator) statement(depth int) {
	g.size--
	n := 17
	if depth == 0 {
		n = 10
	}
	switch g.pick(n) {
	case 0:
		t := g.kind()
		g.value(t, 2)
		g.index(0x21, g.local(t))
	case 1:
		t := g.kind()
		g.value(t, 2)
		g.index(0x24, g.global(t))
	case 2:
		t, op := I32, byte(0x36)
		switch g.pick(3) {
		case 1:
			t, op = I64, 0x37
		case 2:
			op = 0x3a
		}
		g.address()
		g.value(t, 2)
		g.put(op, 0, byte(g.pick(128)))
	case 3:
		g.address()
		g.value(I32, 1)
		g.length()
		g.put(0xfc, 11, 0)
	case 4:
		g.address()
		g.address()
		g.length()
		g.put(0xfc, 10, 0, 0)
	case 5:
		g.address()
		g.value(I32, 0)
		g.length()
		g.put(0xfc, 8, 0, 0)
	case 6:
		g.branch(byte(opBrIf), 1)
	case 7:
		g.value(I32, 0)
		g.put(0x40, 0, 0x1a)
	case 8:
		g.call(1)
	case 9:
		if g.vectors {
			g.vector()
		} else {
			g.put(0x01)
		}
	case 10:
		g.inside(byte(opBlock), emptyType, nil, func() { g.block(depth - 1) })
	case 11:
		// A loop that goes round while a local has certain bits.
		g.inside(byte(opLoop), emptyType, nil, func() {
			g.block(depth - 1)
			i := g.local(I32)
			g.index(0x20, i)
			g.put(byte(opI32Const), 1, 0x6b)
			g.index(0x22, i)
			g.put(byte(opI32Const), 7, 0x71)
			g.index(0x0d, 0)
		})
	case 12:
		g.value(I32, 1)
		g.inside(byte(opIf), emptyType, nil, func() {
			g.block(depth - 1)
			if g.pick(2) == 1 {
				g.put(byte(opElse))
				g.block(depth - 1)
			}
		})
	case 13:
		// A loop that hands values round.
		g.value(I32, 1)
		g.value(I64, 1)
		g.inside(byte(opLoop), 4, []ValType{I32, I64}, func() {
			g.index(0x21, g.local(I64))
			g.put(byte(opI32Const), 1, 0x6b)
			i := g.local(I32)
			g.index(0x22, i)
			g.block(depth - 1)
			g.value(I64, 1)
			g.index(0x20, i)
			g.put(byte(opI32Const), 3, 0x71)
			g.index(0x0d, 0)
		})
		g.put(0x1a, 0x1a)
	case 14:
		g.inside(byte(opBlock), 6, []ValType{I32, I64}, func() {
			g.block(depth - 1)
			g.value(I32, 1)
			g.value(I64, 1)
			g.value(I32, 1)
			g.index(0x0d, 0)
		})
		g.put(0x1a, 0x1a)
	case 15:
		g.inside(byte(opBlock), emptyType, nil, func() {
			g.inside(byte(opBlock), emptyType, nil, func() {
				g.value(I32, 1)
				g.put(byte(opBrTable), 3, 0, 1, 0, byte(g.pick(2)))
			})
			g.block(depth - 1)
		})
	case 16:
		// A way out under a condition, with dead code behind it.
		g.value(I32, 1)
		g.inside(byte(opIf), emptyType, nil, func() {
			g.block(depth - 1)
			switch g.pick(3) {
			case 0:
				g.branch(byte(opBr), 1)
			case 1:
				for _, t := range g.results {
					g.value(t, 1)
				}
				g.put(byte(opReturn))
			case 2:
				g.put(byte(opUnreachable))
			}
			if g.pick(2) == 1 {
				g.block(depth - 1)
			}
		})
	}
}

// call calls any function, by name or through the table, and drops what it
// gives.
func (g *generator) call(depth int) {
	fn := g.pick(len(g.fns))
	s := g.fns[fn]
	for _, t := range g.sigs[s].Params {
		g.value(t, depth)
	}
	if g.pick(3) == 2 {
		g.put(byte(opI32Const), byte(g.pick(genSlots+4)), byte(opCallIndirect), byte(s), 0)
	} else {
		g.index(byte(opCall), fn)
	}
	for range g.sigs[s].Results {
		g.put(0x1a)
	}
}

// vector loads, computes and stores 16 bytes.
func (g *generator) vector() {
	g.address()
	g.address()
	g.put(0xfd, 0, 0, 16)
	g.value(I32, 1)
	g.put(0xfd, 17)
	switch g.pick(4) {
	case 0:
		g.put(0xfd, 0xae, 0x01) // i32x4.add
	case 1:
		g.put(0xfd, 0xb5, 0x01) // i32x4.mul
	case 2:
		g.put(0xfd, 0x51) // xor
	case 3:
		g.put(0xfd, 0x23) // i8x16.eq
	}
	g.put(0xfd, 11, 0, 0)
}

// value writes an expression.
func (g *generator) value(t ValType, depth int) {
	n := 10
	if depth == 0 {
		n = 4
	}
	wide := t == I64
	pick := func(i32, i64 byte) byte {
		if wide {
			return i64
		}
		return i32
	}
	switch g.pick(n) {
	case 0:
		g.code = appendSigned(append(g.code, pick(0x41, 0x42)), int64(g.pick(256))-100)
	case 1:
		g.index(0x20, g.local(t))
	case 2:
		g.index(0x23, g.global(t))
	case 3:
		if wide {
			g.index(0x20, g.local(I32))
			g.put(0xad)
			return
		}
		g.put(0x3f, 0)
	case 4:
		g.value(t, depth-1)
		g.value(t, depth-1)
		g.put([][]byte{{0x6a, 0x7c}, {0x6b, 0x7d}, {0x6c, 0x7e}, {0x73, 0x85}}[g.pick(4)][g.bit(wide)])
	case 5:
		g.value(t, depth-1)
		g.value(t, depth-1)
		if g.pick(2) == 0 {
			g.put(pick(0x41, 0x42), 1, pick(0x72, 0x84))
		}
		g.put(pick(0x6e, 0x80))
	case 6:
		g.address()
		g.put(pick(0x28, 0x29), 0, byte(g.pick(128)))
	case 7:
		g.value(t, depth-1)
		g.value(t, depth-1)
		g.value(I32, depth-1)
		g.put(0x1b)
	case 8:
		g.value(I32, depth-1)
		g.inside(byte(opIf), byte(t), []ValType{t}, func() {
			g.value(t, depth-1)
			g.put(byte(opElse))
			g.value(t, depth-1)
		})
	case 9:
		if wide {
			g.value(I32, depth-1)
			g.put(0xac)
			return
		}
		g.value(I64, depth-1)
		g.value(I64, depth-1)
		g.put([]byte{0x51, 0x54}[g.pick(2)])
	}
}

func (g *generator) bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
