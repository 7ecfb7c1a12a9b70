package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// leaveOut marks the rows that the index says cannot take the job: nothing is
// asked about them until they change. A row that is left out is not counted by
// reason, see settle.
func (r *ranking) leaveOut(x *model.Index, snap *state.Snapshot, w *scratch) {
	r.left = false
	if x == nil {
		return
	}
	w.rows, w.left = x.Candidates(snap, &r.fit.Ask, w.rows[:0], w.left[:0])
	for _, out := range w.left {
		for _, row := range out.Rows {
			e := &r.rows[row]
			e.version, e.tier, e.left = snap.RowVersion(row), refused, true
			r.left = true
		}
	}
}

// settle gives the rows that were left out their own reasons, for a decision
// that has to name them.
func (r *ranking) settle(snap *state.Snapshot) {
	if !r.left {
		return
	}
	r.left = false
	for row := range r.rows {
		e := &r.rows[row]
		if !e.left {
			continue
		}
		e.left, e.present, e.known = false, true, true
		if e.reason = r.fit.reason(snap, uint32(row)); e.reason == 0 {
			panic("BUG: the index left out node " + snap.Name(uint32(row)) + ", which fits")
		}
		r.count(e)
	}
}

// leftOut counts the nodes that the index would leave out for the shape now, by
// class and reason, the most first.
func (r *ranking) leftOut(x *model.Index, snap *state.Snapshot, w *scratch) []poise.LeftOut {
	if x == nil {
		return nil
	}
	w.rows, w.left = x.Candidates(snap, &r.fit.Ask, w.rows[:0], w.left[:0])
	var all []poise.LeftOut
	for _, out := range w.left {
		c := poise.LeftOut{Class: x.ClassName(out.Class), Code: out.Reason.Code(), Dim: r.dimName(out.Reason)}
		same := func(o poise.LeftOut) bool { return o.Class == c.Class && o.Code == c.Code && o.Dim == c.Dim }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Nodes += len(out.Rows)
			continue
		}
		c.Nodes = len(out.Rows)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b poise.LeftOut) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Dim, b.Dim))
	})
	return all
}
