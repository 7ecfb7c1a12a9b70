package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// horizonShapes bounds the shapes that a Horizon keeps answers for: as many jobs
// as may have a reservation.
const horizonShapes = poise.MaxReservations

// Horizon finds where and when a job could start that cannot start now, from the
// declared run times of what runs. It goes by the native filters alone: what a
// policy says of a node that is full is not known. It keeps its answers per shape
// and row and belongs to one goroutine and one State. A question costs a look at
// each row that changed since the last one of its shape, log2(rows) matches per
// such row, and a look at the rows that are reserved; the first one of a shape
// looks at every row.
type Horizon struct {
	shapes []*outlook // the one that was asked about last in front
	line   timeline
}

// NewHorizon makes a Horizon that knows nothing.
func NewHorizon() *Horizon {
	return &Horizon{}
}

// Start is where and when a job could start.
type Start struct {
	Row uint32
	At  poise.Time // 0 = not known
	// Misses is, where At is not known, how much of the request is missing now: the
	// largest part over its dimensions, 0 to 1.
	Misses float64
	// Now: nothing that the native filters see, nor a claim, is in the way.
	Now bool
}

// Before says whether a start is better than another: earlier, or less missing.
func (s *Start) Before(o *Start) bool {
	if a, b := orNever(s.At), orNever(o.At); a != b {
		return a < b
	}
	return s.Misses < o.Misses
}

func orNever(t poise.Time) poise.Time {
	if t == 0 {
		return never
	}
	return t
}

// Earliest gives the first start of a job beside what reservations claim, at least
// 1 ms after now; of equal ones that on the node of the smallest name. Where no
// time is known it is on the node that misses least. A node on which the job fits
// now is in no question: something else keeps it off there. Avoid takes out rows.
// False means that no node is left.
func (h *Horizon) Earliest(snap *state.Snapshot, job *state.Job, now poise.Time, claims []*state.Reservation, avoid func(row uint32) bool) (Start, bool) {
	o := h.outlook(snap, job.Shape, now)
	for {
		best, found, stale := h.earliest(o, job, now, claims, avoid)
		if stale == nil {
			return best, found
		}
		o.look(*stale, now, &h.line)
		o.tree.update(*stale, o)
	}
}

// earliest is Earliest by what is known, or gives the first row that has to be
// looked at again: a task runs longer than expected. An answer that is out of date
// is too early, never too late, so none that matters is passed over.
func (h *Horizon) earliest(o *outlook, job *state.Job, now poise.Time, claims []*state.Reservation, avoid func(row uint32) bool) (best Start, found bool, stale *uint32) {
	o.tree.walk(o, func(row uint32) bool {
		if int(row) >= len(o.rows) || o.rows[row].kind == notHeld {
			return false
		}
		e := &o.rows[row]
		plain := e.start(row, now)
		switch {
		case found && !plain.Before(&best):
			return false // nor is any that comes behind it
		case avoid(row):
			return true
		case e.until <= now:
			stale = &row
			return false
		}
		if s := h.beside(o.snap, job, row, now, claims, plain); !s.Now && (!found || s.Before(&best)) {
			best, found = s, true
		}
		return true
	})
	return best, found, stale
}

// On is Earliest for one row; false means that the row cannot take the job.
func (h *Horizon) On(snap *state.Snapshot, job *state.Job, row uint32, now poise.Time, claims []*state.Reservation) (Start, bool) {
	o := h.outlook(snap, job.Shape, now)
	e := &o.rows[row]
	if e.kind == notHeld {
		return Start{}, false
	}
	if e.until <= now {
		o.look(row, now, &h.line)
		o.tree.update(row, o)
	}
	return h.beside(snap, job, row, now, claims, e.start(row, now)), true
}

// beside gives the start on a row beside claims, from what it is without them.
func (h *Horizon) beside(snap *state.Snapshot, job *state.Job, row uint32, now poise.Time, claims []*state.Reservation, plain Start) Start {
	if !claimed(snap, row, claims) {
		return plain
	}
	o := h.shapes[0]
	h.line.reset(&o.fit, snap, row, now, claims)
	at := h.line.earliest(now, job.RunTime)
	if at == never {
		return Start{Row: row, Misses: max(plain.Misses, o.fit.misses(o.snap, row), 1)}
	}
	return Start{Row: row, At: max(at, now+1)}
}

func claimed(snap *state.Snapshot, row uint32, claims []*state.Reservation) bool {
	for _, r := range claims {
		for range r.On(snap, row) {
			return true
		}
	}
	return false
}

// outlook gives what is known for a shape, as of the snapshot.
func (h *Horizon) outlook(snap *state.Snapshot, shape *state.Shape, now poise.Time) *outlook {
	i := slices.IndexFunc(h.shapes, func(o *outlook) bool { return o.fit.shape == shape })
	if i < 0 {
		i = len(h.shapes)
		h.shapes = append(h.shapes, &outlook{})
	}
	o := h.shapes[i]
	copy(h.shapes[1:], h.shapes[:i])
	h.shapes[0] = o
	if len(h.shapes) > horizonShapes {
		h.shapes[horizonShapes] = nil
		h.shapes = h.shapes[:horizonShapes]
	}
	o.catchUp(snap, shape, now, &h.line)
	return o
}

// outlook is, for one shape, when each row could take a job, and the tree that
// orders them.
type outlook struct {
	fit    fit
	snap   *state.Snapshot
	cursor state.Cursor
	rows   []outlookRow
	tree   tree
}

// The kinds of rows, in their order.
const (
	timed   = iota // a start is known
	untimed        // it depends on tasks without a run time
	notHeld        // no node, or one that cannot take the job whatever ends on it
)

type outlookRow struct {
	at     poise.Time // 0 = now
	until  poise.Time // a task is expected to end then: later, the answer is another one
	misses float64    // of an untimed row
	kind   uint8
}

func (e *outlookRow) start(row uint32, now poise.Time) Start {
	if e.kind == untimed {
		return Start{Row: row, Misses: e.misses}
	}
	return Start{Row: row, At: max(e.at, now+1), Now: e.at == 0}
}

func (o *outlook) catchUp(snap *state.Snapshot, shape *state.Shape, now poise.Time, line *timeline) {
	o.snap = snap
	grown := o.fit.resolve(shape, snap)
	changes, ok := o.cursor.Follow(snap)
	if grown || !ok || len(o.rows) != snap.Rows() || len(changes) > snap.Rows()/2 {
		o.rows = make([]outlookRow, snap.Rows())
		o.tree.reset(snap.Rows())
		for row := range uint32(snap.Rows()) {
			o.look(row, now, line)
		}
		o.tree.build(o)
	} else {
		for _, row := range changes {
			o.look(row, now, line)
			o.tree.update(row, o)
		}
	}
}

// look finds out about a row.
func (o *outlook) look(row uint32, now poise.Time, line *timeline) {
	e := &o.rows[row]
	*e = outlookRow{kind: notHeld, until: never}
	if !o.snap.Present(row) {
		return
	}
	switch o.fit.reason(o.snap, row).Code() {
	case poise.Fits:
		e.kind = timed
		return
	case poise.IdleShort, poise.DeviceIdleShort:
	default:
		return
	}
	line.reset(&o.fit, o.snap, row, now, nil)
	if len(line.ends) > 0 {
		e.until = line.ends[0].at
	}
	if e.at = line.earliest(now, 0); e.at < never {
		e.kind = timed
		return
	}
	e.kind, e.at, e.misses = untimed, 0, o.fit.misses(o.snap, row)
}

// misses is the largest part of the request that the row has not idle now.
func (f *fit) misses(snap *state.Snapshot, row uint32) float64 {
	worst := 0.0
	consider := func(ask, have int64) {
		worst = max(worst, float64(ask-min(have, ask))/float64(ask))
	}
	for i := range f.Dims {
		consider(f.Dims[i].Amount, snap.Idle(row, f.Dims[i].Dim))
	}
	if ask := &f.shape.Request.Device; ask.Count > 0 {
		consider(ask.Total(), deviceRoom(snap.Free(row), ask))
	}
	return worst
}

// less orders rows by kind, then the earlier start or the smaller miss, then the
// name.
func (o *outlook) less(a, b uint32) bool {
	if int(a) >= len(o.rows) || int(b) >= len(o.rows) {
		return a < b
	}
	x, y := &o.rows[a], &o.rows[b]
	if c := cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.at, y.at), cmp.Compare(x.misses, y.misses)); c != 0 {
		return c < 0
	}
	if x.kind == notHeld {
		return a < b
	}
	return o.snap.Rank(a) < o.snap.Rank(b)
}
