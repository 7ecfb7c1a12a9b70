package balance

import "math/bits"

// memoSlots is how many evaluated states are remembered: a power of two. A slot
// is one cache line, so 2^13 slots are 512 KB.
const memoSlots = 1 << 13

// memoParts is how many partly free devices a remembered state may have.
const memoParts = 6

// memo remembers the degrees of node states within one epoch. It is a cache
// with one place per hash: a state that meets another in its place replaces it,
// so it never grows, and since the whole state is compared, an answer from it
// is the answer that evaluating would give.
type memo struct {
	slots []memoSlot // nil before the first: what a plugin replaces needs none
	epoch uint32     // of the entries that count; never 0
}

type memoSlot struct {
	key     memoKey
	epoch   uint32
	degrees degrees
}

// memoKey is a nodeState with at most memoParts parts.
type memoKey struct {
	cpu, memory  int64
	kind, model  uint16
	whole, parts uint8
	part         [memoParts]uint16
}

func newMemo() *memo { return &memo{epoch: 1} }

// forget drops every entry.
func (m *memo) forget() {
	if m.epoch++; m.epoch == 0 { // wrapped: old stamps would look new
		clear(m.slots)
		m.epoch = 1
	}
}

// degrees gives what evaluate gives for the state.
func (m *memo) degrees(s *nodeState, evaluate func() degrees) degrees {
	if s.parts > memoParts {
		return evaluate()
	}
	key := memoKey{cpu: s.cpu, memory: s.memory, kind: s.kind, model: s.model, whole: s.whole, parts: s.parts}
	copy(key.part[:], s.part[:s.parts])
	if m.slots == nil {
		m.slots = make([]memoSlot, memoSlots)
	}
	slot := &m.slots[key.hash()&(memoSlots-1)]
	if slot.epoch != m.epoch || slot.key != key {
		slot.key, slot.epoch, slot.degrees = key, m.epoch, evaluate()
	}
	return slot.degrees
}

// hash mixes the key into 64 bits (multiply and fold, as in wyhash).
func (k *memoKey) hash() uint64 {
	h := mix(uint64(k.cpu)^0x9e3779b97f4a7c15, uint64(k.memory)^0xbf58476d1ce4e5b9)
	h = mix(h^uint64(k.kind)<<48^uint64(k.model)<<32^uint64(k.whole)<<8^uint64(k.parts), 0x94d049bb133111eb)
	if k.parts > 0 {
		p := &k.part
		h = mix(h^uint64(p[0])^uint64(p[1])<<16^uint64(p[2])<<32^uint64(p[3])<<48, 0xd6e8feb86659fd93^uint64(p[4])^uint64(p[5])<<16)
	}
	return h
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
