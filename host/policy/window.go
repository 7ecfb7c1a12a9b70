package policy

import (
	"encoding/binary"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// window is what one call is about: either a block of neighbouring rows, copied
// column by column, of which some are candidates, or the candidates alone. The
// compiler keeps a struct of four words in registers, a larger one it copies
// through memory, where that waits for whatever was cleared before.
type window struct {
	candidates int // from the front of the rows that are left to ask about
	rows       int // of the table
	end        int // row behind a block's last one, 0 = no block
	lead       int // rows of a block before the first candidate
}

// block says whether it is one.
func (w window) block() bool { return w.end > 0 }

// first gives the row of a block's beginning.
func (w window) first() int { return w.end - w.rows }

// dense says whether all rows behind the lead are candidates.
func (w window) dense() bool { return w.lead+w.candidates == w.rows }

// cut takes a window of at most limit table rows. A block of the rows that a slot
// holds begins at a multiple of 8, so that columns do.
func (s *slot) cut(rows []uint32, limit int, numbers []uint32) window {
	if !s.holds() {
		return cut(rows, limit, numbers)
	}
	lead := int(rows[0] % 8)
	w := cut(rows, max(limit-lead, 1), numbers)
	if w.block() && lead+w.rows <= limit {
		w.lead, w.rows = lead, w.rows+lead
	} else if w.block() {
		w = window{candidates: min(w.candidates, limit), rows: min(w.candidates, limit)}
	}
	return w
}

// cut takes a window of at most limit table rows from the front of rows: a block
// where at least half of its rows are asked about. numbers are 0, 1, 2 and so on,
// as many as there are.
func cut(rows []uint32, limit int, numbers []uint32) window {
	n := contiguous(rows[:min(len(rows), limit)], numbers)
	for n < len(rows) && rows[n] > rows[n-1] && int(rows[n]-rows[0]) < limit {
		n++
	}
	if span := int(rows[n-1]-rows[0]) + 1; n >= span/2 && n >= min(len(rows), smallRows) {
		return window{candidates: n, rows: span, end: int(rows[0]) + span}
	}
	n = min(len(rows), limit)
	return window{candidates: n, rows: n}
}

// contiguous counts the rows from the front that follow one upon the other, 64 at
// a time: a full pass has nothing else.
func contiguous(rows, numbers []uint32) int {
	first, n := rows[0], 0
	numbers = numbers[min(int(first), len(numbers)):]
	for most := min(len(rows), len(numbers)); n+64 <= most && *(*[64]uint32)(rows[n:]) == *(*[64]uint32)(numbers[n:]); {
		n += 64
	}
	for n < len(rows) && rows[n] == first+uint32(n) {
		n++
	}
	return n
}

// at gives the table row of candidate i.
func (w window) at(rows []uint32, i int) int {
	if w.block() {
		return int(rows[i]) - w.first()
	}
	return i
}

// lay writes table, columns and candidate bits for a window, and clears the
// outputs.
func (g *Guest) lay(s *slot, w window, rows []uint32) {
	l, arena, first := s.layout, s.arena(), 0
	switch {
	case s.holds() && w.block():
		first = w.first()
	case s.holds():
		first = l.Sizes.Held
	}
	bits := arena[l.Candidate:][:(w.rows+63)/64*8]
	if !s.fresh {
		clear(bits)
		clear(arena[l.Values:][:8*w.rows])
		if l.Masks != 0 {
			clear(arena[l.Masks:][:4*w.rows])
		}
	}
	if s.fresh && first == 0 { // the table is that of setUp
		l.PutRows(arena, w.rows)
	} else {
		l.PutWindow(arena, s.base, first, w.rows)
	}
	if w.dense() {
		for i := range w.rows / 8 {
			bits[i] = 0xff
		}
		if rest := w.rows % 8; rest > 0 {
			bits[w.rows/8] = 1<<rest - 1
		}
		if w.lead > 0 {
			bits[0] &^= 1<<w.lead - 1
		}
	} else {
		for i := range w.candidates {
			r := w.at(rows, i)
			bits[r/8] |= 1 << (r % 8)
		}
	}
	picked, copied := rows[:w.candidates], false
	if w.block() && !s.holds() {
		if copied = w.rows > smallRows; copied {
			g.mirror.turn()
		} else {
			picked = g.mirror.numbers[w.first():][:w.rows]
		}
	}
	for i := range l.Columns {
		c := &l.Columns[i]
		if s.stale {
			clear(arena[c.Offset+w.rows*c.Stride : c.Offset+l.Sizes.Rows*c.Stride])
		}
		to := arena[c.Offset+first*c.Stride:][:w.rows*c.Stride]
		switch {
		case perCall(c.Kind):
			g.compute(to, c.Kind, w, rows)
		case w.block() && s.holds():
		case copied:
			copy(to, g.mirror.data[i][w.first()*c.Stride:])
		default:
			gather(to, g.mirror.records[g.mirror.within[i]:], picked, c.Stride, g.mirror.record)
		}
	}
	s.fresh, s.stale = false, false
}

// gather copies the elements of the rows, one after the other, from records of so
// many bytes.
func gather(to, from []byte, rows []uint32, stride, record int) {
	switch stride {
	case 8:
		for i, row := range rows {
			*(*[8]byte)(to[8*i:]) = *(*[8]byte)(from[int(row)*record:])
		}
	case 4:
		for i, row := range rows {
			*(*[4]byte)(to[4*i:]) = *(*[4]byte)(from[int(row)*record:])
		}
	default:
		for i, row := range rows {
			copy(to[i*stride:(i+1)*stride], from[int(row)*record:])
		}
	}
}

// perCall says whether a column depends on more than its row.
func perCall(k abi.Kind) bool {
	switch k {
	case abi.Taints, abi.Selectors, abi.TenantTasks, abi.JobTasks, abi.Age:
		return true
	}
	return false
}

// compute writes a column that depends on the job or on the time.
func (g *Guest) compute(to []byte, k abi.Kind, w window, rows []uint32) {
	for r := range w.rows {
		row := uint32(w.first() + r)
		if !w.block() {
			row = rows[r]
		}
		switch {
		case !g.pass.snap.Present(row):
			clear(to[r*abi.Column{Kind: k}.Stride(0):][:abi.Column{Kind: k}.Stride(0)])
		case k == abi.TenantTasks || k == abi.JobTasks:
			binary.LittleEndian.PutUint32(to[4*r:], g.tasks(row, k))
		case k == abi.Age:
			putDouble(to[8*r:], float64(max(g.pass.snap.At()-g.pass.snap.Joined(row), 0)))
		default:
			binary.LittleEndian.PutUint64(to[8*r:], g.bits(row, k))
		}
	}
}

// tasks counts the tasks of the job, with the other members of its gang, or of its
// tenant on a row.
func (g *Guest) tasks(row uint32, k abi.Kind) uint32 {
	n := uint32(0)
	for l := g.pass.snap.Tasks(row); l != nil; l = l.Next {
		if k == abi.TenantTasks && l.Task.Tenant == g.pass.job.Tenant || k == abi.JobTasks && l.Task.Beside(g.pass.job) {
			n++
		}
	}
	return n
}

// bits gives the element of the column taints or selectors.
func (g *Guest) bits(row uint32, k abi.Kind) uint64 {
	snap, shape := g.pass.snap, g.pass.job.Shape
	word := uint64(0)
	if k == abi.Selectors {
		for i := range shape.Selectors[:min(len(shape.Selectors), 64)] {
			if shape.Selectors[i].Matches(snap.Labels(row)) {
				word |= 1 << i
			}
		}
		return word
	}
	if !snap.Tainted(row) {
		return 0
	}
	taints := snap.Taints(row)
	for i := range taints {
		switch taints[i].Effect {
		case poise.NoSchedule:
			word |= abi.TaintNoSchedule
		case poise.NoExecute:
			word |= abi.TaintNoExecute
		}
		if !poise.Tolerates(shape.Tolerations, &taints[i]) {
			word |= abi.TaintUntolerated
		}
	}
	return word
}
