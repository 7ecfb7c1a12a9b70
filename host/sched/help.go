package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// maxHelps bounds what a decision says would help.
const maxHelps = 6

// obstacle is one test that a row fails.
type obstacle struct {
	code   poise.ReasonCode
	dim    string
	what   string
	beyond int64
}

// helps gives the single changes that would let the job fit somewhere now: for
// every refused row that fails one test alone, what that is. It also gives, per
// dimension and for the devices, the row that misses least in it, of those that
// only amounts keep the job off. It costs one look at every row.
func (r *ranking) helps(p *Policy, snap *state.Snapshot) ([]poise.Help, []poise.Miss) {
	var all helpList
	var misses missList
	var obstacles []obstacle // of one row after the other
	for row := range uint32(len(r.rows)) {
		e := &r.rows[row]
		if !e.present || e.reason == 0 {
			continue
		}
		var amounts int
		obstacles, amounts = r.fit.obstacles(obstacles[:0], snap, row)
		if len(obstacles) == amounts {
			for i := range obstacles {
				misses.add(&obstacles[i], r, snap, row)
			}
		}
		switch {
		case len(obstacles) == 1:
			all.add(&obstacles[0], snap, row)
		case len(obstacles) == 0:
			all.add(&obstacle{code: e.reason.Code(), what: p.reasonText(e.reason)}, snap, row)
		}
	}
	slices.SortFunc(all, func(a, b poise.Help) int {
		// Who asks for a device hardly does without it.
		if x, y := a.Code == poise.DeviceKindMissing, b.Code == poise.DeviceKindMissing; x != y {
			if y {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Dim, b.Dim), cmp.Compare(a.What, b.What))
	})
	slices.SortFunc(misses, func(a, b poise.Miss) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Dim, b.Dim))
	})
	return all[:min(len(all), maxHelps)], misses
}

type helpList []poise.Help

// add counts a row. Rows are not in the order of names, so the name decides.
func (l *helpList) add(o *obstacle, snap *state.Snapshot, row uint32) {
	i := slices.IndexFunc(*l, func(h poise.Help) bool { return h.Code == o.code && h.Dim == o.dim && h.What == o.what })
	name := snap.Name(row)
	if i < 0 {
		*l = append(*l, poise.Help{Code: o.code, Dim: o.dim, What: o.what, Beyond: o.beyond, Node: name, Nodes: 1})
		return
	}
	h := &(*l)[i]
	h.Nodes++
	if o.beyond < h.Beyond || o.beyond == h.Beyond && name < h.Node {
		h.Beyond, h.Node = o.beyond, name
	}
}

// missList has one miss per dimension.
type missList []poise.Miss

func (l *missList) add(o *obstacle, r *ranking, snap *state.Snapshot, row uint32) {
	ask := r.shape.Request.Device.Total()
	if o.code == poise.IdleShort {
		ask, _ = r.shape.Request.Amounts.Find(o.dim)
	}
	m := poise.Miss{Node: snap.Name(row), Code: o.code, Dim: o.dim, Ask: ask, Have: ask - o.beyond, Beyond: o.beyond}
	i := slices.IndexFunc(*l, func(k poise.Miss) bool { return k.Dim == o.dim && k.Code == o.code })
	switch {
	case i < 0:
		*l = append(*l, m)
	case m.Beyond < (*l)[i].Beyond || m.Beyond == (*l)[i].Beyond && m.Node < (*l)[i].Node:
		(*l)[i] = m
	}
}

// obstacles appends every test that a row fails now, and how many of them are
// amounts. A dimension in which the node is too small even when empty is one of
// them: asking for less would help there as well.
func (f *fit) obstacles(all []obstacle, snap *state.Snapshot, row uint32) ([]obstacle, int) {
	amounts := 0
	labels := snap.Labels(row)
	for i := range f.shape.Selectors {
		if s := &f.shape.Selectors[i]; !s.Matches(labels) {
			all = append(all, obstacle{code: poise.SelectorMismatch, what: s.Key})
		}
	}
	if !f.anyTerm(labels) {
		all = append(all, obstacle{code: poise.SelectorMismatch, what: "node affinity"})
	}
	if snap.Tainted(row) {
		taints := snap.Taints(row)
		for i := range taints {
			if !poise.Tolerates(f.shape.Tolerations, &taints[i]) {
				all = append(all, obstacle{code: poise.TaintNotTolerated, what: taints[i].String()})
			}
		}
	}
	ask := &f.shape.Request.Device
	kind := ask.Count == 0 || f.Kind >= 0 && int(snap.Kind(row)) == f.Kind
	switch {
	case !kind:
		all = append(all, obstacle{code: poise.DeviceKindMissing, dim: ask.Kind})
	case ask.Count > 0 && len(f.Models) > 0 && !f.Models[snap.Model(row)]:
		all = append(all, obstacle{code: poise.DeviceModelMismatch, dim: ask.Kind, what: snap.Models()[snap.Model(row)]})
	}
	if kind && ask.Shared() && snap.Exclusive(row) {
		all = append(all, obstacle{code: poise.DeviceExclusive, dim: ask.Kind})
	}
	switch {
	case snap.NotReady(row):
		all = append(all, obstacle{code: poise.NodeNotReady})
	case snap.Drained(row):
		all = append(all, obstacle{code: poise.NodeDrained})
	}
	for i := range f.Dims {
		d, idle := &f.Dims[i], int64(0)
		if d.Dim >= 0 {
			idle = snap.Idle(row, d.Dim)
		}
		if idle < d.Amount {
			amounts++
			all = append(all, obstacle{code: poise.IdleShort, dim: d.Name, beyond: d.Amount - idle})
		}
	}
	if kind && ask.Count > 0 {
		if have := deviceRoom(snap.Free(row), ask); have < ask.Total() {
			amounts++
			all = append(all, obstacle{code: poise.DeviceIdleShort, dim: ask.Kind, beyond: ask.Total() - have})
		}
	}
	if port := snap.Taken(row, f.shape.Ports); port != nil {
		all = append(all, obstacle{code: poise.PortTaken, what: port.String()})
	}
	return all, amounts
}
