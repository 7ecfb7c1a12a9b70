package wasm

// calls are the calls of a module, the other way round, and which functions look
// at the size of the memory or change it.
type calls struct {
	callers [][]uint32 // by function, imported ones included, and then the tables
	sizing  []uint32   // functions with memory.size or memory.grow
}

// newCalls begins with what can be called through the tables, which nothing
// writes to: what an element names.
func newCalls(m *module) *calls {
	c := &calls{callers: make([][]uint32, len(m.funcs)+1)}
	for _, fn := range m.referred {
		c.callers[fn] = append(c.callers[fn], c.tables())
	}
	return c
}

// tables is the number that stands for all tables together.
func (c *calls) tables() uint32 { return uint32(len(c.callers) - 1) }

// add notes the calls of a function.
func (c *calls) add(fn int, s *scan) {
	for _, callee := range s.callees {
		c.callers[callee] = append(c.callers[callee], uint32(fn))
	}
	if s.indirect {
		c.callers[c.tables()] = append(c.callers[c.tables()], uint32(fn))
	}
	if s.sizes {
		c.sizing = append(c.sizing, uint32(fn))
	}
}

// size gives, by function, whether a call of it can come to memory.size or
// memory.grow.
func (c *calls) size() []bool {
	reached := make([]bool, len(c.callers))
	for left := c.sizing; len(left) > 0; {
		fn := left[len(left)-1]
		left = left[:len(left)-1]
		if !reached[fn] {
			reached[fn] = true
			left = append(left, c.callers[fn]...)
		}
	}
	return reached
}
