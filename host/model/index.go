package model

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// blockRows is how many rows a block holds at the most. Smaller blocks leave out
// more rows and cost more envelopes; on openb 32 rows leave out almost as much
// as single rows would.
const blockRows = 32

// Index keeps the rows of a fleet in blocks of one class with an envelope each,
// so that a request is tested against a block instead of its rows. It catches up
// from the change log and belongs to one goroutine and one State.
type Index struct {
	classOf func(snap *state.Snapshot, row uint32) uint32
	nameOf  func(class uint32) string
	rows    []indexRow
	classes []*indexClass // by class id, ascending
	seen    state.Cursor
	dims    int
}

type indexRow struct {
	described uint64 // Snapshot.Described that the class was given for; 0 = not in a block
	block     *indexBlock
}

type indexClass struct {
	id       uint32
	blocks   []*indexBlock
	envelope envelope
	stale    bool
}

type indexBlock struct {
	class    *indexClass
	rows     []uint32
	envelope envelope
	stale    bool
}

// LeftOut is rows that were not looked at, with a reason that holds for all.
type LeftOut struct {
	Class  uint32
	Rows   []uint32 // valid until the index is used again
	Reason poise.Reason
}

// NewIndex makes an index. classOf gives the class of a row's node; it is asked
// when a node joins and when it describes itself anew. nameOf gives the name of
// a class.
func NewIndex(classOf func(snap *state.Snapshot, row uint32) uint32, nameOf func(class uint32) string) *Index {
	return &Index{classOf: classOf, nameOf: nameOf}
}

// ClassName is the name of a class.
func (x *Index) ClassName(class uint32) string { return x.nameOf(class) }

// Candidates appends the rows worth looking at for the ask to rows, and what it
// left out to out. Every present row is in one of the two, and no row that can
// take the job is left out.
func (x *Index) Candidates(snap *state.Snapshot, ask *Ask, rows []uint32, out []LeftOut) ([]uint32, []LeftOut) {
	x.catchUp(snap)
	for _, c := range x.classes {
		x.refresh(snap, c)
		if reason := c.envelope.refuses(ask); reason != 0 {
			for _, b := range c.blocks {
				out = append(out, LeftOut{Class: c.id, Rows: b.rows, Reason: reason})
			}
			continue
		}
		for _, b := range c.blocks {
			if reason := b.envelope.refuses(ask); reason != 0 {
				out = append(out, LeftOut{Class: c.id, Rows: b.rows, Reason: reason})
			} else {
				rows = append(rows, b.rows...)
			}
		}
	}
	return rows, out
}

// catchUp files the rows that changed. Envelopes are only marked stale: they are
// made anew when they are asked for.
func (x *Index) catchUp(snap *state.Snapshot) {
	if dims := len(snap.Dims()); dims != x.dims {
		x.dims = dims
		for _, c := range x.classes {
			for _, b := range c.blocks {
				b.outdate()
			}
		}
	}
	changes, ok := x.seen.Follow(snap)
	if more := snap.Rows() - len(x.rows); more > 0 {
		x.rows = append(x.rows, make([]indexRow, more)...)
	}
	if ok {
		for _, row := range changes {
			x.file(snap, row)
		}
	} else {
		for row := range uint32(len(x.rows)) {
			x.file(snap, row)
		}
	}
}

// file puts a row into a block of its class, or takes it out after its node left.
func (x *Index) file(snap *state.Snapshot, row uint32) {
	e := &x.rows[row]
	described := uint64(0)
	if int(row) < snap.Rows() && snap.Present(row) {
		described = snap.Described(row)
	}
	if e.described == described {
		if e.block != nil {
			e.block.outdate()
		}
		return
	}
	e.described = described
	if described == 0 {
		x.take(e, row)
		return
	}
	class := x.class(x.classOf(snap, row))
	if e.block != nil && e.block.class == class {
		e.block.outdate()
		return
	}
	x.take(e, row)
	e.block = class.room()
	e.block.rows = append(e.block.rows, row)
	e.block.outdate()
}

func (b *indexBlock) outdate() { b.stale, b.class.stale = true, true }

// take removes the row from its block, and an empty block or class with it.
func (x *Index) take(e *indexRow, row uint32) {
	b := e.block
	if b == nil {
		return
	}
	e.block = nil
	i := slices.Index(b.rows, row)
	b.rows[i] = b.rows[len(b.rows)-1]
	b.rows = b.rows[:len(b.rows)-1]
	b.outdate()
	if len(b.rows) > 0 {
		return
	}
	c := b.class
	i = slices.Index(c.blocks, b)
	c.blocks = slices.Delete(c.blocks, i, i+1)
	if len(c.blocks) == 0 {
		i = slices.Index(x.classes, c)
		x.classes = slices.Delete(x.classes, i, i+1)
	}
}

func (x *Index) class(id uint32) *indexClass {
	i, ok := slices.BinarySearchFunc(x.classes, id, func(c *indexClass, id uint32) int { return cmp.Compare(c.id, id) })
	if !ok {
		x.classes = slices.Insert(x.classes, i, &indexClass{id: id})
	}
	return x.classes[i]
}

// room gives a block with room for one more row. Only the newest block and, after
// rows left, a block less than half full are filled.
func (c *indexClass) room() *indexBlock {
	if n := len(c.blocks); n > 0 && len(c.blocks[n-1].rows) < blockRows {
		return c.blocks[n-1]
	}
	for _, b := range c.blocks {
		if len(b.rows) < blockRows/2 {
			return b
		}
	}
	b := &indexBlock{class: c}
	c.blocks = append(c.blocks, b)
	return b
}

// refresh makes the stale envelopes of a class anew.
func (x *Index) refresh(snap *state.Snapshot, c *indexClass) {
	if !c.stale {
		return
	}
	c.stale = false
	c.envelope.reset(x.dims)
	for _, b := range c.blocks {
		if b.stale {
			b.stale = false
			b.envelope.reset(x.dims)
			for _, row := range b.rows {
				b.envelope.addRow(snap, row)
			}
		}
		c.envelope.add(&b.envelope)
	}
}
