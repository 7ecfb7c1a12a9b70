package policy

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/poise-sched/poise/abi"
)

// A small guest has at least a page of 64 KiB and uses a part of it, from the
// front. To set back the rest too, which is all zero, takes longer than a call on
// few rows. So once a guest is set up, an instance has that part only, and whoever
// reaches for more traps. Such a trap says nothing: the call is made again in an
// instance that has the whole memory, as are all that follow. A call that does not
// reach for more is what it would be there, to the bit and to the unit of fuel, as
// it can see a size nowhere: a module whose filter or score can come to
// memory.size or memory.grow, or that has imports, keeps the whole.

// heap is the memory of a guest that is set back by writing.
type heap struct {
	all  []byte
	part int // bytes that are there for good; 0 = as many as were asked for
}

// partLeast is what leaving off has to save, in bytes.
const partLeast = 4 << 10

// allocate implements experimental.MemoryAllocator.
func (h *heap) allocate(most, _ uint64) experimental.LinearMemory {
	h.all = make([]byte, most)
	return h
}

// Reallocate implements experimental.LinearMemory. The memory never moves.
func (h *heap) Reallocate(size uint64) []byte {
	if h.part > 0 {
		return h.all[:h.part:h.part]
	}
	if size > uint64(len(h.all)) {
		return nil
	}
	return h.all[:size]
}

// Free implements experimental.LinearMemory. The collector has it.
func (*heap) Free() {}

// partible says whether an instance of the code may have a part of its memory.
func (c *code) partible() bool {
	for _, e := range c.info.Exports {
		if (e.Name == abi.Filter || e.Name == abi.Score) && e.Sizes {
			return false
		}
	}
	return len(c.info.Imports) == 0
}

// leaveOff leaves off what is zero behind so many bytes.
func (in *instance) leaveOff(inUse int) {
	if in.heap == nil || in.dead != nil || !in.code.partible() {
		return
	}
	memory := in.memory()
	runs := runsOf(memory)
	last := runs[len(runs)-1]
	end := roundUpTo(max(inUse, last.from), runBlock)
	if !last.zero || end+partLeast > len(memory) {
		return
	}
	// The engine takes whatever it is given when it asks for a page more.
	in.heap.part = end
	if _, ok := in.mem.Grow(1); !ok {
		in.heap.part = 0
	}
}

// seal seals an instance with its arena.
func (g *Guest) seal(in *instance, base uint32, l *abi.Layout) error {
	if !g.whole {
		in.leaveOff(int(base) + l.Size)
	}
	return in.seal()
}

// outside says whether a fault may be due to memory that was left off.
func (in *instance) outside(f *Fault) bool {
	return f != nil && f.Code == abi.CodeTrap && in.heap != nil && in.heap.part > 0
}
