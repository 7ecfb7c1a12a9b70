package sched

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// ShortList is how many candidates a full decision shows.
const ShortList = 5

// explain fills in why: who was refused, which node came nearest, and the best
// candidates with their matrices, from the same ranking that decided. The
// chosen row stands first; the rule Seeded may have taken it from further down.
func (p *Pipeline) explain(d *poise.Decision, r *ranking, snap *state.Snapshot, job *state.Job, chosen uint32, detail Detail) {
	for _, c := range r.counts {
		if c.nodes > 0 {
			d.Refused = append(d.Refused, poise.ReasonCount{Code: c.reason.Code(), Dim: r.dimName(c.reason), Text: p.policy.reasonText(c.reason), Nodes: c.nodes})
		}
	}
	for _, c := range p.barred.counts {
		d.Refused = append(d.Refused, poise.ReasonCount{Code: c.reason.Code(), Nodes: c.nodes})
	}
	slices.SortFunc(d.Refused, func(a, b poise.ReasonCount) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Dim, b.Dim), cmp.Compare(a.Text, b.Text))
	})
	d.LeftOut = r.leftOut(p.order.index, snap, &p.work)
	if detail == All {
		d.Refusals = p.refusals(r, snap)
	}
	if d.Verdict != poise.Placed {
		if r.fitting == 0 {
			d.Nearest = r.nearest(&p.policy, snap, d.Verdict)
			d.Helps, d.Misses = r.helps(&p.policy, snap)
		}
		return
	}
	lean := p.barred.lean
	var rows []uint32
	if detail == All || lean != nil {
		rows = p.allRanked(r, job)
	} else {
		rows = p.shortList(r, chosen)
	}
	if detail != All {
		rows = rows[:min(len(rows), ShortList)]
	}
	for _, row := range rows {
		e := &r.rows[row]
		c := poise.Ranked{Node: snap.Name(row), Tier: e.tier, Loss: e.loss, Devices: p.devices(snap, job, row, e.mask), Formula: p.policy.Name}
		if x, ok := p.policy.Scorer.(Explainer); ok {
			c.Formula, c.Columns = x.Explain(snap, job, row, c.Devices)
		}
		if lean != nil {
			c.Near, c.Uneven = lean[row].Near, lean[row].Uneven
		}
		for _, part := range p.parts {
			if x, ok := part.(Shower); ok {
				c.Seen = append(c.Seen, x.Show(row)...)
			}
		}
		d.Ranked = append(d.Ranked, c)
	}
}

// shortList gives the chosen row and the next best ones.
func (p *Pipeline) shortList(r *ranking, chosen uint32) []uint32 {
	rows := []uint32{chosen}
	r.tree.walk(&p.order, func(row uint32) bool {
		if r.candidate(row) && !p.barred.has(row) {
			rows = append(rows, row)
		}
		return r.candidate(row) && len(rows) <= ShortList
	})
	if i := slices.Index(rows[1:], chosen); i >= 0 {
		rows = slices.Delete(rows, i+1, i+2)
	}
	return rows[:min(len(rows), ShortList)]
}

// allRanked gives all candidates that no bar refuses, best first, ties of the rule
// Seeded settled as pick settles them.
func (p *Pipeline) allRanked(r *ranking, job *state.Job) []uint32 {
	var rows []uint32
	for row := range uint32(len(r.rows)) {
		if r.candidate(row) && !p.barred.has(row) {
			rows = append(rows, row)
		}
	}
	prefix, lean := hashPrefix(p.policy.Seed, job.ID), p.barred.lean
	slices.SortFunc(rows, func(a, b uint32) int {
		if lean != nil && r.rows[a].tier == r.rows[b].tier {
			if order := lean[a].compare(lean[b]); order != 0 {
				return order
			}
		}
		if p.policy.Ties == Seeded && r.equal(a, b) {
			x, y := hashOf(prefix, p.order.snap.Name(a)), hashOf(prefix, p.order.snap.Name(b))
			if x != y {
				return cmp.Compare(x, y)
			}
		}
		switch {
		case p.order.less(a, b):
			return -1
		case p.order.less(b, a):
			return 1
		}
		return 0
	})
	return rows
}

// refusals gives every refused node with its reason, by name.
func (p *Pipeline) refusals(r *ranking, snap *state.Snapshot) []poise.Refusal {
	var all []poise.Refusal
	for row := range r.rows {
		if e := &r.rows[row]; e.present && e.reason != 0 {
			all = append(all, poise.Refusal{Node: snap.Name(uint32(row)), Code: e.reason.Code(), Dim: r.dimName(e.reason), Text: p.policy.reasonText(e.reason)})
		}
	}
	for _, row := range p.barred.rows {
		all = append(all, poise.Refusal{Node: snap.Name(row), Code: p.barred.reason(row).Code()})
	}
	slices.SortFunc(all, func(a, b poise.Refusal) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// reasonText gives the words of the filter that gave a reason, "" for a native
// one.
func (p *Policy) reasonText(reason poise.Reason) string {
	if reason.Code() != poise.PolicyRefused {
		return ""
	}
	filter, code := reason.Policy()
	if r, ok := p.Filters[filter].(Reasoner); ok {
		return r.ReasonText(code)
	}
	return fmt.Sprintf("reason %d", code)
}

// dimName names the dimension of a reason that has one.
func (r *ranking) dimName(reason poise.Reason) string {
	switch reason.Code() {
	case poise.CapacityShort, poise.IdleShort:
		for _, d := range r.fit.Dims {
			if d.Dim == reason.Dim() || d.Dim < 0 && reason.Dim() == poise.Undeclared {
				return d.Name
			}
		}
	case poise.DeviceKindMissing, poise.DeviceModelMismatch, poise.DeviceExclusive, poise.DeviceCapacityShort, poise.DeviceIdleShort:
		return r.shape.Request.Device.Kind
	}
	return ""
}

// nearest gives the node that comes nearest to holding the job: the one with
// the smallest largest shortfall, each taken relative to its request, then the
// smallest name. Nodes that lack something other than an amount come nearest
// only if there is no other. For a job that fits, but not now, a node that could
// never hold it is not near.
func (r *ranking) nearest(p *Policy, snap *state.Snapshot, verdict poise.Verdict) *poise.Miss {
	best, bestRow, bestPart := (*poise.Miss)(nil), uint32(0), 0.0
	for row := range r.rows {
		e := &r.rows[row]
		if !e.present || e.reason == 0 || verdict == poise.FitsNotNow && e.reason.Code().Lasting() {
			continue
		}
		miss, part := r.miss(snap, uint32(row), e.reason)
		miss.Text = p.reasonText(e.reason)
		if best == nil || part < bestPart || part == bestPart && snap.Rank(uint32(row)) < snap.Rank(bestRow) {
			best, bestRow, bestPart = miss, uint32(row), part
		}
	}
	return best
}

// notAnAmount ranks shortfalls that are not an amount behind all others, and of
// these what is tested later before what is tested earlier.
func notAnAmount(c poise.ReasonCode) float64 { return 2 + float64(poise.ReasonCodes-c) }

// miss gives the largest relative shortfall of a refused row.
func (r *ranking) miss(snap *state.Snapshot, row uint32, reason poise.Reason) (*poise.Miss, float64) {
	m := &poise.Miss{Node: snap.Name(row), Code: reason.Code(), Dim: r.dimName(reason)}
	lasting := false
	switch reason.Code() {
	case poise.CapacityShort, poise.DeviceCapacityShort:
		lasting = true
	case poise.IdleShort, poise.DeviceIdleShort:
	default:
		return m, notAnAmount(reason.Code())
	}
	worst := -1.0
	consider := func(code poise.ReasonCode, dim string, ask, have int64) {
		if part := float64(ask-have) / float64(ask); ask > have && part > worst {
			worst = part
			m.Code, m.Dim, m.Ask, m.Have, m.Beyond = code, dim, ask, have, ask-have
		}
	}
	for i := range r.fit.Dims {
		d := &r.fit.Dims[i]
		have := int64(0)
		code := poise.IdleShort
		if d.Dim >= 0 {
			have = snap.Idle(row, d.Dim)
		}
		if lasting {
			code = poise.CapacityShort
			if d.Dim >= 0 {
				have = snap.Capacity(row, d.Dim)
			}
		}
		consider(code, d.Name, d.Amount, have)
	}
	if ask := &r.shape.Request.Device; ask.Count > 0 {
		code, have := poise.DeviceIdleShort, deviceRoom(snap.Free(row), ask)
		if lasting {
			code, have = poise.DeviceCapacityShort, int64(snap.Devices(row))*poise.WholeDevice
		}
		consider(code, ask.Kind, ask.Total(), have)
	}
	return m, worst
}

// deviceRoom is how much of the ask the devices can give, in milli-devices:
// the largest free amount for a share, the whole ones for whole devices.
func deviceRoom(free []uint16, ask *poise.DeviceRequest) int64 {
	if !ask.Shared() {
		return int64(devicesFree(free, ask.Milli)) * poise.WholeDevice
	}
	most := uint16(0)
	for _, f := range free {
		most = max(most, f)
	}
	return int64(most)
}
