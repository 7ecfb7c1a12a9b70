package sched

import (
	"fmt"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// batchRows is how many rows a filter or scorer is asked about at a time.
const batchRows = 4096

// ranking is what a policy answered for one job shape: per row its reason,
// loss, tier and device mask, and the tree that orders them. It is right as of
// one snapshot version and catches up from the change log.
type ranking struct {
	key     cacheKey
	shape   *state.Shape
	fit     fit
	seen    state.Cursor // caught up to
	epoch   uint64
	rows    []rankRow
	tree    tree
	counts  []reasonCount
	fitting int
	left    bool // some rows are left out

	newer, older *ranking // neighbours in the cache, by last use
}

// rankRow is the answer for one row. A row that is not a candidate has a
// reason or no node.
type rankRow struct {
	version uint64 // row version answered for
	loss    float64
	reason  poise.Reason
	mask    uint32
	tier    uint16
	present bool
	known   bool // answered for this version, in this epoch or an earlier one
	native  bool // the native filter kept it
	left    bool // left out by the index as of this version: it cannot take the job
}

type reasonCount struct {
	reason poise.Reason
	nodes  int
}

// scratch holds the arrays of one batch; a Pipeline reuses it.
type scratch struct {
	changed []uint32
	rows    []uint32
	loss    []float64
	mask    []uint32
	more    []poise.Reason
	left    []model.LeftOut
}

// catchUp brings the ranking to the snapshot and says how many rows it looked
// at.
func (r *ranking) catchUp(p *Policy, epoch uint64, job *state.Job, o *order, w *scratch) (int, error) {
	snap := o.snap
	if r.fit.resolve(job.Shape, snap) {
		r.forget()
	}
	changes, ok := r.seen.Follow(snap)
	all := !ok || epoch != r.epoch || len(r.rows) != snap.Rows() || len(changes) > snap.Rows()/2
	w.changed = w.changed[:0]
	if !ok || len(r.rows) != snap.Rows() {
		r.reset(snap)
		r.leaveOut(o.index, snap, w)
	}
	if all {
		r.outdated(snap, epoch != r.epoch, w)
	} else {
		for _, row := range changes {
			r.outdate(snap, row, w)
		}
	}
	for rows := range slices.Chunk(w.changed, batchRows) {
		if err := r.answer(p, snap, job, rows, w); err != nil {
			r.forget() // half a catch-up is none
			return len(w.changed), err
		}
	}
	o.rows = r.rows
	if all {
		r.tree.build(o)
	} else {
		for _, row := range w.changed {
			r.tree.update(row, o)
		}
	}
	r.epoch = epoch
	return len(w.changed), nil
}

// outdate lists the row, once, if it changed.
func (r *ranking) outdate(snap *state.Snapshot, row uint32, w *scratch) bool {
	e, version := &r.rows[row], snap.RowVersion(row)
	if e.version == version {
		return false
	}
	e.version, e.known = version, false
	w.changed = append(w.changed, row)
	return true
}

// outdated lists all rows that changed and, where a new epoch began, those that
// the native filter kept. What it said does not depend on the epoch; what others
// said may.
func (r *ranking) outdated(snap *state.Snapshot, epoch bool, w *scratch) {
	for row := range uint32(len(r.rows)) {
		if !r.outdate(snap, row, w) && epoch && r.rows[row].present && r.rows[row].native {
			w.changed = append(w.changed, row)
		}
	}
}

func (r *ranking) reset(snap *state.Snapshot) {
	r.rows = make([]rankRow, snap.Rows())
	for i := range r.rows {
		r.rows[i].tier = refused // a row that never changed is of no node
	}
	r.tree.reset(snap.Rows())
	r.counts, r.fitting = r.counts[:0], 0
}

// answer asks filters and scorer about rows and records what they say.
func (r *ranking) answer(p *Policy, snap *state.Snapshot, job *state.Job, rows []uint32, w *scratch) error {
	w.rows = w.rows[:0]
	for _, row := range rows {
		e := &r.rows[row]
		fits := e.known && e.native
		r.uncount(e)
		e.left = false
		e.loss, e.tier, e.present, e.known = 0, refused, snap.Present(row), true
		if !e.present {
			continue
		}
		if !fits {
			e.reason = r.fit.reason(snap, row)
		}
		if e.native = e.reason == 0; e.native {
			w.rows = append(w.rows, row)
		}
	}
	batch := state.Batch{Snap: snap, Job: job, Rows: w.rows}
	for number, f := range p.Filters {
		if len(batch.Rows) == 0 {
			break
		}
		w.more = slices.Grow(w.more[:0], len(batch.Rows))[:len(batch.Rows)]
		clear(w.more)
		if err := f.Filter(&batch, w.more); err != nil {
			return err
		}
		kept := batch.Rows[:0]
		for i, row := range batch.Rows {
			reason := w.more[i]
			if reason.Code() == poise.PolicyRefused {
				_, code := reason.Policy()
				reason = poise.NewPolicyReason(number, code)
			}
			if r.rows[row].reason = reason; reason == 0 {
				kept = append(kept, row)
			}
		}
		batch.Rows = kept
	}
	n := len(batch.Rows)
	w.loss = slices.Grow(w.loss[:0], n)[:n]
	w.mask = slices.Grow(w.mask[:0], n)[:n]
	if n > 0 {
		if err := p.Scorer.Score(&batch, w.loss, w.mask); err != nil {
			return err
		}
	}
	protect := p.ProtectDevices && job.Shape.Request.Device.Count == 0
	r.fit.prefer()
	for i, row := range batch.Rows {
		if math.IsNaN(w.loss[i]) || math.IsInf(w.loss[i], 0) {
			return p.fault("loss of node %q: %v, expected a finite number", snap.Name(row), w.loss[i])
		}
		if mask := w.mask[i]; mask != 0 && !snap.MaskFits(row, mask, &job.Shape.Request.Device) {
			ask := &job.Shape.Request.Device
			return p.fault("devices of node %q: mask %b, expected %d devices with %d milli free", snap.Name(row), mask, ask.Count, ask.Milli)
		}
		e := &r.rows[row]
		e.loss, e.mask, e.tier = poise.RoundLoss(w.loss[i]), w.mask[i], r.fit.tier(snap, row)
		if protect && snap.Devices(row) > 0 {
			e.tier |= protected
		}
	}
	for _, row := range rows {
		r.count(&r.rows[row])
	}
	return nil
}

// fault is an answer that no scorer may give.
func (p *Policy) fault(format string, args ...any) error {
	return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("policy %q", p.Name), Detail: fmt.Sprintf(format, args...)}
}

// forget drops all answers: the next catch-up asks about every row.
func (r *ranking) forget() {
	r.seen, r.rows, r.counts, r.fitting, r.left = state.Cursor{}, nil, nil, 0, false
}

func (r *ranking) count(e *rankRow) {
	switch {
	case !e.present:
	case e.reason == 0:
		r.fitting++
	default:
		r.counts = tally(r.counts, e.reason, 1)
	}
}

func (r *ranking) uncount(e *rankRow) {
	switch {
	case !e.present:
	case e.reason == 0:
		r.fitting--
	default:
		r.counts = tally(r.counts, e.reason, -1)
	}
	e.reason, e.present = 0, false
}

func tally(counts []reasonCount, reason poise.Reason, by int) []reasonCount {
	for i := range counts {
		if counts[i].reason == reason {
			counts[i].nodes += by
			return counts
		}
	}
	return append(counts, reasonCount{reason: reason, nodes: by})
}

// order compares rows by (tier, loss, tie).
type order struct {
	rows      []rankRow
	snap      *state.Snapshot
	index     *model.Index // nil: nothing is left out
	published []uint64     // number by row, for the rule Published
}

// less says whether row a comes before row b. Rows that are not candidates
// come last. The rule Seeded depends on the job, so it is applied when picking.
func (o *order) less(a, b uint32) bool {
	if int(a) >= len(o.rows) {
		return false
	}
	if int(b) >= len(o.rows) {
		return true
	}
	x, y := &o.rows[a], &o.rows[b]
	if x.tier != y.tier {
		return x.tier < y.tier
	}
	if x.loss != y.loss {
		return x.loss < y.loss
	}
	if x.tier == refused {
		return a < b
	}
	if o.published != nil && o.published[a] != o.published[b] {
		return o.published[a] < o.published[b]
	}
	return o.snap.Rank(a) < o.snap.Rank(b)
}

// candidate says whether the row passed the filters.
func (r *ranking) candidate(row uint32) bool {
	return int(row) < len(r.rows) && r.rows[row].tier != refused
}

// equal says whether two candidates differ in nothing but the tie.
func (r *ranking) equal(a, b uint32) bool {
	return r.rows[a].tier == r.rows[b].tier && r.rows[a].loss == r.rows[b].loss
}
