package wasm

// control follows the instructions that open, close or leave a construct.
func (c *scanner) control(at int, op opcode) {
	switch op {
	case opUnreachable:
		// Not a way out: a path to it does not return.
		c.stop()
	case opBlock, opLoop, opIf:
		params, results := c.blockType()
		if op == opIf {
			c.operate(1, 0)
		}
		c.operate(params, params)
		if op == opLoop {
			c.loops++
		}
		c.target()
		c.move(max(params, results))
		c.frames = append(c.frames, frame{
			op: op, outer: c.open, lowest: len(c.frames),
			base: c.height - params, params: params, results: results, called: c.called,
		})
		switch op {
		case opLoop:
			c.begin(siteCharge, true)
		case opIf:
			c.begin(siteCharge, false)
		}
	case opElse:
		f := &c.frames[len(c.frames)-1]
		if f.op != opIf {
			c.failAt(at, RuleFormat, "else: expected in an if, once")
			return
		}
		c.settle(f)
		f.arrives = f.arrives || c.called && !f.stopped
		f.op, f.stopped = opElse, false
		c.called = f.called
		c.height = f.base + f.params
		c.begin(siteCharge, false)
	case opEnd:
		c.close()
	case opBr:
		n := c.label()
		c.move(n)
		c.operate(n, n)
		c.stop()
	case opBrIf:
		n := c.label()
		c.move(n)
		c.operate(n+1, n)
		c.target()
		c.begin(siteCharge, false)
	case opBrTable:
		c.operate(1, 0)
		n := c.count("labels")
		values := 0 // the same for every label of a valid module
		for range n + 1 {
			values = c.label()
			c.operate(values, values)
			if c.err != nil {
				return
			}
		}
		c.move(values)
		c.stop()
	case opReturn:
		n := c.frames[0].results
		c.operate(n, n)
		c.leave(0)
		c.stop()
	default:
		c.failAt(at, RuleOpcode, "instruction: %s, expected one of core 2.0", op)
	}
}

// move charges what a compiler may have to move where ways through a function
// meet: the values that a branch takes along, and locals, which may lie elsewhere
// on each of the ways.
func (c *scanner) move(values int) {
	most := uint64(freeLocals)
	c.charge(uint64(values)/movesPerUnit + (max(c.s.locals, most)-most)/movesPerUnit)
}

// target counts a control target.
func (c *scanner) target() { c.s.targets += max(c.loops, 1) }

// blockType reads the type of a construct: none, a value or a function type.
func (c *scanner) blockType() (params, results int) {
	at := c.pos
	switch v := c.signed(33); {
	case c.err != nil:
	case v >= 0:
		if v >= int64(len(c.m.types)) {
			c.failAt(at, RuleIndex, "type index: %d, expected below %d", v, len(c.m.types))
			return 0, 0
		}
		t := c.m.types[v]
		return len(t.params), len(t.results)
	case v == -0x40 && c.pos == at+1:
		return 0, 0
	case v < -0x40 || !ValType(v&0x7f).known() || c.pos != at+1:
		c.failAt(at, RuleFormat, "block type: expected none, a value type or a type index")
	}
	return 0, 1
}

// label reads a branch depth, and gives how many values the branch takes along.
func (c *scanner) label() int {
	i := c.index(len(c.frames), "label")
	if c.err != nil {
		return 0
	}
	target := len(c.frames) - 1 - int(i)
	c.leave(target)
	f := &c.frames[target]
	if f.op == opLoop {
		return f.params
	}
	f.arrives = f.arrives || c.called
	return f.results
}

// leave notes a branch to the given frame.
func (c *scanner) leave(target int) {
	f := &c.frames[len(c.frames)-1]
	f.lowest = min(f.lowest, target)
}

// close ends the innermost construct.
func (c *scanner) close() {
	last := len(c.frames) - 1
	f := c.frames[last]
	c.settle(&f)
	c.frames = c.frames[:last]
	c.height = f.base + f.results
	if last == 0 {
		return
	}
	c.called = c.called && !f.stopped || f.arrives || f.op == opIf && f.called
	if f.op == opLoop {
		c.loops--
	}
	c.leave(f.lowest)
	if f.lowest >= last {
		c.open = f.outer
		return
	}
	c.begin(siteCharge, false)
}
