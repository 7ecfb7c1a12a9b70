package policy

import "github.com/poise-sched/poise/abi"

// A row-pure plugin's large slot holds the columns of all rows of the fleet: a
// call is about a window of them, and only rows that changed are written between
// passes. The plugin could change what it was given. But what it answers is kept
// from pass to pass on its word already, and the same audit catches both: it asks
// in the small slot, which holds nothing.

// touched are the rows of a mirror that were written since the columns were last
// brought to a slot.
type touched struct {
	rows []uint32 // with repetitions
	all  bool
}

func (t *touched) add(row uint32, of int) {
	switch {
	case t.all:
	case len(t.rows) >= of/4: // about where copying whole columns is no slower
		t.rows, t.all = t.rows[:0], true
	default:
		t.rows = append(t.rows, row)
	}
}

// toHold gives how many rows the large slot is to hold, 0 = none.
func (g *Guest) toHold() int {
	if !g.rowPure() {
		return 0
	}
	return max(roundUp(g.mirror.rows), 2*smallRows)
}

// newHolder makes a slot that holds the columns of so many rows; nil where the
// guest has no memory for them. A quarter of what it can have is left to it.
func (g *Guest) newHolder(rows, held int) *slot {
	sizes := g.room(rows)
	sizes.Held = held
	layout, err := abi.NewLayout(g.module.Manifest, sizes)
	if err != nil || int64(layout.Size) > int64(g.limits.Module.MemoryPages)<<16/4*3 {
		return nil
	}
	in, f := g.newInstance()
	if f != nil {
		return nil // it comes again without
	}
	base, err := in.alloc(uint32(layout.Size))
	if err != nil || base == 0 || g.seal(in, base, layout) != nil {
		in.close()
		return nil
	}
	return &slot{in: in, layout: layout, base: base, wanted: rows}
}

// bring writes the rows that changed since the last pass to the columns that a
// slot holds, or all of them where what another tenant's job left could be there.
func (g *Guest) bring(s *slot, arena []byte) {
	t := &g.mirror.touched
	all := !s.laid || t.all || s.tenant != g.pass.job.Tenant
	if all {
		g.mirror.turn()
	}
	for i := range s.layout.Columns {
		c := &s.layout.Columns[i]
		to := arena[c.Offset:][:(s.layout.Sizes.Held+s.layout.Sizes.Rows)*c.Stride]
		switch {
		case all:
			clear(to[copy(to, g.mirror.data[i]):])
		case !perCall(c.Kind):
			for _, row := range t.rows {
				copy(to[int(row)*c.Stride:][:c.Stride], g.mirror.element(row, i))
			}
		}
	}
	s.laid, s.tenant = true, g.pass.job.Tenant
	t.rows, t.all = t.rows[:0], false
}
