package wasm

// meter writes a function's body with the metering in it.
type meter struct {
	scan *scan
	out  []byte

	// Indices of the globals.
	fuel, depth, denied uint64
	// Indices of the locals that are added; those that a function does not
	// need have none.
	left, own, length, granted uint64
}

func newMeter(m *module, s *scan, out []byte) *meter {
	g := uint64(len(m.globals))
	t := &meter{scan: s, out: out, fuel: g, depth: g + 1, denied: g + 2}
	t.left = s.locals
	next := s.locals + 1
	for _, l := range [...]struct {
		needed bool
		index  *uint64
	}{{s.calls, &t.own}, {s.bulk, &t.length}, {s.grows, &t.granted}} {
		if l.needed {
			*l.index = next
			next++
		}
	}
	return t
}

// body gives the new body, its length aside.
func (t *meter) body() []byte {
	t.locals()
	from := t.scan.localsTo
	for _, s := range t.scan.sites {
		t.out = append(t.out, t.scan.code[from:s.at]...)
		from = s.at
		switch s.kind {
		case siteEntry:
			t.entry(s.units)
		case siteCharge:
			t.stretch(s)
		case siteCall:
			t.handOn()
		case siteBulk:
			t.bulk()
		case siteGrow:
			t.op(opLocalTee, t.length)
			t.out = append(t.out, byte(opMemoryGrow), 0)
			from += 2
			t.grown()
		}
	}
	return append(t.out, t.scan.code[from:]...)
}

func (t *meter) locals() {
	s := t.scan
	ints := 0
	for _, needed := range [...]bool{s.calls, s.bulk, s.grows} {
		if needed {
			ints++
		}
	}
	groups := s.groups + 1
	if ints > 0 {
		groups++
	}
	t.out = appendUnsigned(t.out, uint64(groups))
	t.out = append(t.out, s.code[:s.localsTo]...)
	t.out = append(t.out, 1, byte(I64))
	if ints > 0 {
		t.out = append(t.out, byte(ints), byte(I32))
	}
}

func (t *meter) plain(ops ...opcode) {
	for _, op := range ops {
		t.out = append(t.out, byte(op))
	}
}

func (t *meter) op(op opcode, index uint64) {
	t.out = appendUnsigned(append(t.out, byte(op)), index)
}

func (t *meter) constant(op opcode, v int64) {
	t.out = appendSigned(append(t.out, byte(op)), v)
}

// entry charges the first stretch and tests both counters with one branch:
// the sign of either shows in their union.
func (t *meter) entry(units uint64) {
	t.op(opGlobalGet, t.fuel)
	if units > 0 {
		t.constant(opI64Const, int64(units))
		t.plain(opI64Sub)
		t.op(opLocalTee, t.left)
		t.op(opGlobalSet, t.fuel)
		t.op(opLocalGet, t.left)
	}
	t.op(opGlobalGet, t.depth)
	if t.scan.calls {
		t.op(opLocalTee, t.own)
	}
	t.plain(opI64ExtendS, opI64Or)
	t.trapBelowZero()
}

func (t *meter) stretch(s site) {
	if s.units > 0 {
		t.op(opGlobalGet, t.fuel)
		t.constant(opI64Const, int64(s.units))
		t.plain(opI64Sub)
		t.spend(s.test)
		return
	}
	if s.test {
		t.op(opGlobalGet, t.fuel)
		t.trapBelowZero()
	}
}

// spend stores the fuel that is left, on the stack, and perhaps tests it.
func (t *meter) spend(test bool) {
	if !test {
		t.op(opGlobalSet, t.fuel)
		return
	}
	t.op(opLocalTee, t.left)
	t.op(opGlobalSet, t.fuel)
	t.op(opLocalGet, t.left)
	t.trapBelowZero()
}

// trapBelowZero tests the i64 on the stack.
func (t *meter) trapBelowZero() {
	t.constant(opI64Const, 0)
	t.plain(opI64LtS, opIf, emptyType, opUnreachable, opEnd)
}

// emptyType is the type of a construct that takes and gives nothing.
const emptyType = 0x40

// handOn sets the depth that the callee finds.
func (t *meter) handOn() {
	t.op(opLocalGet, t.own)
	t.constant(opI32Const, t.scan.depthCost())
	t.plain(opI32Sub)
	t.op(opGlobalSet, t.depth)
}

// bulk charges by the length on the stack, a u32, so that no sum can wrap.
func (t *meter) bulk() {
	t.op(opLocalTee, t.length)
	t.op(opGlobalGet, t.fuel)
	t.op(opLocalGet, t.length)
	t.plain(opI64ExtendU)
	t.constant(opI64Const, bulkShift)
	t.plain(opI64ShrU, opI64Sub)
	t.spend(true)
}

// grown looks at the result of memory.grow: pages that were given are charged,
// a refusal is counted.
func (t *meter) grown() {
	t.op(opLocalTee, t.granted)
	t.op(opLocalGet, t.granted)
	t.constant(opI32Const, -1)
	t.plain(opI32Eq, opIf, emptyType)
	t.op(opGlobalGet, t.denied)
	t.constant(opI32Const, 1)
	t.plain(opI32Add)
	t.op(opGlobalSet, t.denied)
	t.plain(opElse)
	t.op(opGlobalGet, t.fuel)
	t.op(opLocalGet, t.length)
	t.plain(opI64ExtendU)
	t.constant(opI64Const, pageUnits)
	t.plain(opI64Mul, opI64Sub)
	t.spend(true)
	t.plain(opEnd)
}
