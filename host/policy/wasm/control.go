package wasm

// control follows the instructions that open, close or leave a construct.
func (c *scanner) control(at int, op opcode) {
	switch op {
	case opUnreachable:
		// Not a way out: a path to it does not return.
		c.open = dead
	case opBlock, opLoop, opIf:
		c.blockType()
		if op == opLoop {
			c.loops++
		}
		c.target()
		c.frames = append(c.frames, frame{op: op, outer: c.open, lowest: len(c.frames)})
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
		f.op = opElse
		c.begin(siteCharge, false)
	case opEnd:
		c.close()
	case opBr:
		c.label()
		c.open = dead
	case opBrIf:
		c.label()
		c.target()
		c.begin(siteCharge, false)
	case opBrTable:
		n := c.count("labels")
		for range n + 1 {
			c.label()
			if c.err != nil {
				return
			}
		}
		c.open = dead
	case opReturn:
		c.leave(0)
		c.open = dead
	default:
		c.failAt(at, RuleOpcode, "instruction: %s, expected one of core 2.0", op)
	}
}

// target counts a control target.
func (c *scanner) target() { c.s.targets += max(c.loops, 1) }

// blockType reads the type of a construct: none, a value or a function type.
func (c *scanner) blockType() {
	at := c.pos
	switch v := c.signed(33); {
	case c.err != nil:
	case v >= 0:
		if v >= int64(len(c.m.types)) {
			c.failAt(at, RuleIndex, "type index: %d, expected below %d", v, len(c.m.types))
		}
	case v == -0x40 && c.pos == at+1:
	case v < -0x40 || !ValType(v&0x7f).known() || c.pos != at+1:
		c.failAt(at, RuleFormat, "block type: expected none, a value type or a type index")
	}
}

// label reads a branch depth.
func (c *scanner) label() {
	i := c.index(len(c.frames), "label")
	if c.err == nil {
		c.leave(len(c.frames) - 1 - int(i))
	}
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
	c.frames = c.frames[:last]
	if last == 0 {
		return
	}
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
