package wasm

// operands gives how many values an instruction that is plain, accesses memory
// or names a lane takes from the stack and puts there.
func (op opcode) operands() (takes, gives int) {
	if n, ok := op.vector(); ok {
		return vectorOperands(n)
	}
	switch {
	case op == 0x01: // nop
		return 0, 0
	case op == 0x1a: // drop
		return 1, 0
	case op == 0x1b: // select
		return 3, 1
	case op.within(0x36, 0x3e): // stores
		return 2, 0
	case op.within(0x46, 0x4f), op.within(0x51, 0x66), // comparisons
		op.within(0x6a, 0x78), op.within(0x7c, 0x8a), // of integers
		op.within(0x92, 0x98), op.within(0xa0, 0xa6): // of floats
		return 2, 1
	}
	return 1, 1
}

func vectorOperands(n opcode) (takes, gives int) {
	switch {
	case n == 11, n.within(88, 91): // stores
		return 2, 0
	case n.within(84, 87): // loads of a lane
		return 2, 1
	case n == 0x52: // bitselect
		return 3, 1
	case n <= 10, n.within(15, 20), n == 0x5c, n == 0x5d, // loads and splats
		n == 21, n == 22, n == 24, n == 25, n == 27, n == 29, n == 31, n == 33, // extractions of a lane
		n == 0x4d, n == 0x53, n == 0x5e, n == 0x5f, // not, any_true, conversions
		n.within(0x60, 0x64), n.within(0x67, 0x6a), n == 0x74, n == 0x75, n == 0x7a, n.within(0x7c, 0x81),
		n == 0x83, n == 0x84, n.within(0x87, 0x8a), n == 0x94,
		n == 0xa0, n == 0xa1, n == 0xa3, n == 0xa4, n.within(0xa7, 0xaa),
		n == 0xc0, n == 0xc1, n == 0xc3, n == 0xc4, n.within(0xc7, 0xca),
		n == 0xe0, n == 0xe1, n == 0xe3, n == 0xec, n == 0xed, n == 0xef, n >= 0xf8:
		return 1, 1
	}
	return 2, 1
}

// operate follows the height of the operand stack. Behind what does not go on,
// up to the end of the construct, values that are not there can be taken.
func (c *scanner) operate(takes, gives int) {
	f := &c.frames[len(c.frames)-1]
	c.height -= takes
	if c.height < f.base {
		if !f.stopped {
			c.failAt(c.at, RuleFormat, "operand stack: %d values too few", f.base-c.height)
			return
		}
		c.height = f.base
	}
	c.height += gives
	c.s.height = max(c.s.height, c.height)
}

// stop notes that what follows, up to the end of the construct, is dead.
func (c *scanner) stop() {
	f := &c.frames[len(c.frames)-1]
	c.height, f.stopped = f.base, true
	c.open = dead
}

// settle checks that the construct leaves its results, and nothing else.
func (c *scanner) settle(f *frame) {
	want := f.base + f.results
	if c.height > want || c.height < want && !f.stopped {
		c.failAt(c.at, RuleFormat, "operand stack: %d values at the end, expected %d", c.height-f.base, f.results)
	}
}

// depthCost is what a call from a function takes off the depth. A frame holds
// at most a slot per local and per operand, of 16 bytes; where there are many
// it counts as several, so that a thousand levels need at most 4 MiB of native
// stack: far below what the engine allows (50 MB), so depth is what stops first,
// and no more than a guest's memory, because the engine keeps the stack of each
// export that was called for as long as the instance.
func (s *scan) depthCost() int64 {
	const slots = 256
	return 1 + int64((s.locals+uint64(s.height))/slots)
}
