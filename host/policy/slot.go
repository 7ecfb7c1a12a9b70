package policy

import (
	"encoding/binary"
	"math/bits"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// slot is an instance and the arena in its memory.
type slot struct {
	in     *instance
	layout *abi.Layout
	base   uint32 // pointer to the arena
	wanted int    // rows that it was to have room for: the guest may have had no memory for them
	held   int    // rows of the fleet that it was to hold between passes, likewise
	pass   uint64 // the pass that it was set up for
	fresh  bool   // as it was set up: no call has been made
	stale  bool   // columns hold what an earlier pass left

	// front is the arena up to the columns as a pass finds it, its job aside: what is
	// the same for many jobs is put together once.
	front   []byte
	epoch   uint64 // of the plugin that front is of
	symbols int    // that were known then

	laid   bool           // the columns of all rows are there
	tenant poise.TenantID // of the last pass
}

// holds says whether the columns of all rows stay in the arena between passes.
func (s *slot) holds() bool { return s.layout.Sizes.Held > 0 }

// arena gives the arena's bytes. A call may move the memory: take it anew after
// each one.
func (s *slot) arena() []byte {
	return s.in.memory()[s.base:][:s.layout.Size]
}

// slotFor gives a slot for the next call of a pass that has so many rows left to
// ask about. A pass that has begun in the large one stays there: each slot that a
// pass uses has to be set back first.
func (g *Guest) slotFor(rows int) (*slot, *Fault) {
	if rows > smallRows || g.large != nil && g.large.pass == g.pass.number {
		return g.slot(&g.large, min(max(roundUp(g.mirror.rows), 2*smallRows), abi.MaxRows), g.toHold())
	}
	return g.slot(&g.small, smallRows, 0)
}

// slot gives the slot of a place, with room for so many rows and to hold so many,
// set up for this pass.
func (g *Guest) slot(place **slot, room, held int) (*slot, *Fault) {
	s := *place
	if s != nil && (s.wanted < room || s.held < held || s.holds() && held == 0 || !g.roomy(s.layout)) {
		g.discard(s)
		s = nil
	}
	if s != nil && s.pass != g.pass.number && !s.in.restore(s.base, s.base+uint32(s.layout.Size)) {
		g.discard(s) // its memory has grown
		s = nil
	}
	if s == nil && held > 0 {
		s = g.newHolder(room, held)
	}
	if s == nil {
		var f *Fault
		if s, f = g.newSlot(room); f != nil {
			return nil, f
		}
	}
	*place, s.held = s, held
	if s.pass != g.pass.number {
		g.setUp(s)
	}
	return s, nil
}

// roomy says whether the blocks of the pass have room in the layout.
func (g *Guest) roomy(l *abi.Layout) bool {
	want := g.sizes(l.Sizes.Rows)
	for i, n := range want.Values {
		if n > l.Sizes.Values[i] {
			return false
		}
	}
	return want.Devices == l.Sizes.Devices && want.Shapes <= l.Sizes.Shapes && want.ShapeModels <= l.Sizes.ShapeModels
}

// sizes gives what the blocks of the pass need.
func (g *Guest) sizes(rows int) abi.Sizes {
	s := abi.Sizes{Rows: rows, Devices: g.mirror.devices}
	if g.module.Manifest.WantsProfile {
		s.Shapes = len(g.profile.Shapes)
		for i := range g.profile.Shapes {
			s.ShapeModels += len(g.profile.Shapes[i].Models)
		}
	}
	for i := range g.pass.domains {
		s.Values = append(s.Values, len(g.pass.domains[i].Values))
	}
	return s
}

// room is sizes with room to grow, so that a new value or shape does not mean a
// new instance.
func (g *Guest) room(rows int) abi.Sizes {
	s := g.sizes(rows)
	s.Shapes, s.ShapeModels = roundUp(s.Shapes), roundUp(s.ShapeModels)
	for i := range s.Values {
		s.Values[i] = roundUp(s.Values[i])
	}
	return s
}

// newSlot makes an instance with an arena for so many rows, or for fewer where
// the guest has no memory for them.
func (g *Guest) newSlot(rows int) (*slot, *Fault) {
	in, f := g.newInstance()
	if f != nil {
		return nil, f
	}
	for wanted := rows; ; rows /= 2 {
		layout, err := abi.NewLayout(g.module.Manifest, g.room(rows))
		if err != nil {
			in.close()
			return nil, g.fault(abi.CodeMemory, abi.Alloc, "%v", err)
		}
		base, err := in.alloc(uint32(layout.Size))
		if err != nil {
			in.close()
			return nil, asFault(abi.CodeTrap, err)
		}
		if base == 0 && rows > smallRows {
			continue
		}
		if base == 0 {
			in.close()
			return nil, g.fault(abi.CodeMemory, abi.Alloc, "result: 0 for %d bytes (%d rows), which means no memory, expected a pointer; memory to give out must not begin at address 0", layout.Size, rows)
		}
		if err := g.seal(in, base, layout); err != nil {
			in.close()
			return nil, asFault(abi.CodeTrap, err)
		}
		return &slot{in: in, layout: layout, base: base, wanted: wanted}, nil
	}
}

// roundUp gives the next power of two, 0 for 0.
func roundUp(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

// setUp writes all blocks but columns and candidate bits, and clears outputs and
// bits. What an earlier pass left in the arena goes; many columns are left to the
// next lay, which writes over most of them.
func (g *Guest) setUp(s *slot) {
	arena, l := s.arena(), s.layout
	if symbols := len(g.mirror.symbols.ids); s.front == nil || s.epoch != g.epoch || s.symbols != symbols || len(g.pass.domains) > 0 {
		s.epoch, s.symbols = g.epoch, symbols
		g.putFront(s)
	}
	clear(s.front[l.Job:l.Out])
	l.PutJob(s.front, s.base, &g.pass.block)
	copy(arena, s.front)
	switch {
	case s.holds():
		clear(arena[l.Values:])
		g.bring(s, arena)
	case l.Sizes.Rows <= smallRows:
		clear(arena[len(s.front):])
	default:
		clear(arena[l.Values:])
		s.stale = true
	}
	s.fresh, s.pass = true, g.pass.number
}

// putFront writes the front of a slot, its job aside.
func (g *Guest) putFront(s *slot) {
	l := s.layout
	columns := l.Values
	if len(l.Columns) > 0 {
		columns = l.Columns[0].Offset
	}
	if s.front == nil {
		s.front = make([]byte, columns)
	}
	clear(s.front)
	l.PutTable(s.front, s.base, 0)
	for i, v := range g.settings {
		word := v.Bits
		if v.IsSymbol {
			word = uint64(g.mirror.symbols.id(v.Symbol))
		}
		binary.LittleEndian.PutUint64(s.front[l.Params+8*i:], word)
	}
	l.PutFleet(s.front, s.base, g.mirror.fleet.block())
	l.PutDomains(s.front, s.base, g.pass.domains)
	l.PutProfile(s.front, s.base, &g.profile)
}

// discard gives up a slot after a fault, or one that is too small.
func (g *Guest) discard(s *slot) {
	s.in.close()
	if g.small == s {
		g.small = nil
	}
	if g.large == s {
		g.large = nil
	}
}
