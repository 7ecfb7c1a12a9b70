package balance

// memoSlots is how many evaluated states are remembered: a power of two. 2^14
// slots are 1.9 MB.
const memoSlots = 1 << 14

// memo remembers the degrees of node states within one epoch. It is a cache
// with one place per hash: a state that meets another in its place replaces it,
// so it never grows, and since the whole state is compared, an answer from it
// is the answer that evaluating would give.
type memo struct {
	slots []memoSlot
	epoch uint32 // of the entries that count; 0 = none
}

type memoSlot struct {
	epoch   uint32
	state   nodeState
	degrees degrees
}

func newMemo() *memo { return &memo{slots: make([]memoSlot, memoSlots), epoch: 1} }

// forget drops every entry.
func (m *memo) forget() {
	if m.epoch++; m.epoch == 0 { // wrapped: old stamps would look new
		clear(m.slots)
		m.epoch = 1
	}
}

func (m *memo) slot(s *nodeState) *memoSlot {
	return &m.slots[s.hash()&(memoSlots-1)]
}
