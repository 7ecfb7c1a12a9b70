package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// naive decides as the definition says: filter every row, score every row by
// itself, sort. It keeps nothing, so it cannot be out of date. The policy's
// scorer must be one that has seen nothing before.
func naive(t fataler, p *Policy, snap *state.Snapshot, j *state.Job) poise.Decision {
	t.Helper()
	d := poise.Decision{
		Job: j.ID, Policy: p.Name, Ties: p.Ties.String(), Seed: p.Seed,
		Version: snap.Version(), Epoch: snap.Epoch(), Nodes: snap.Nodes(), Verdict: poise.NeverFits,
	}
	refused := map[poise.ReasonCount]int{}
	var ranked []poise.Ranked
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		code, dim := refusedByRule(snap, row, j.Shape)
		if code == poise.Fits {
			code = refusedByFilters(t, p, snap, row, j)
		}
		if code == poise.Fits {
			ranked = append(ranked, scoredRow(t, p, snap, row, j))
			continue
		}
		refused[poise.ReasonCount{Code: code, Dim: dim}]++
		if code == poise.NodeNotReady || code == poise.NodeDrained || code == poise.IdleShort || code == poise.DeviceIdleShort {
			d.Verdict = poise.FitsNotNow
		}
	}
	for c, n := range refused {
		c.Nodes = n
		d.Refused = append(d.Refused, c)
	}
	slices.SortFunc(d.Refused, func(a, b poise.ReasonCount) int {
		return cmp.Or(b.Nodes-a.Nodes, int(a.Code)-int(b.Code), cmp.Compare(a.Dim, b.Dim))
	})
	if d.Fitting = len(ranked); d.Fitting == 0 {
		d.Nearest = nearestByRule(t, p, snap, j, d.Verdict)
		return d
	}
	slices.SortFunc(ranked, func(a, b poise.Ranked) int {
		published := 0
		if p.Ties == Published {
			published = cmp.Compare(p.Order[a.Node], p.Order[b.Node])
		}
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Loss, b.Loss), published, cmp.Compare(a.Node, b.Node))
	})
	chosen := 0
	for i := range ranked {
		if p.Ties == Seeded && ranked[i].Tier == ranked[0].Tier && ranked[i].Loss == ranked[0].Loss &&
			hash(p.Seed, j.ID, ranked[i].Node) < hash(p.Seed, j.ID, ranked[chosen].Node) {
			chosen = i
		}
	}
	best := ranked[chosen]
	ranked = slices.Insert(slices.Delete(ranked, chosen, chosen+1), 0, best)
	d.Verdict, d.Node, d.Devices = poise.Placed, best.Node, best.Devices
	d.Ranked = ranked[:min(len(ranked), ShortList)]
	return d
}

func refusedByFilters(t fataler, p *Policy, snap *state.Snapshot, row uint32, j *state.Job) poise.ReasonCode {
	t.Helper()
	for _, f := range p.Filters {
		reasons := []poise.Reason{0}
		if err := f.Filter(&state.Batch{Snap: snap, Job: j, Rows: []uint32{row}}, reasons); err != nil {
			t.Fatalf("filter: %v", err)
		}
		if reasons[0] != 0 {
			return reasons[0].Code()
		}
	}
	return poise.Fits
}

func scoredRow(t fataler, p *Policy, snap *state.Snapshot, row uint32, j *state.Job) poise.Ranked {
	t.Helper()
	loss, mask := []float64{0}, []uint32{0}
	if err := p.Scorer.Score(&state.Batch{Snap: snap, Job: j, Rows: []uint32{row}}, loss, mask); err != nil {
		t.Fatalf("score: %v", err)
	}
	r := poise.Ranked{Node: snap.Name(row), Loss: poise.RoundLoss(loss[0]), Formula: p.Name}
	if p.ProtectDevices && j.Shape.Request.Device.Count == 0 && snap.Devices(row) > 0 {
		r.Tier = 1
	}
	r.Devices = devicesByRule(p, snap, row, j, mask[0])
	return r
}

// devicesByRule gives the devices of the mask; without one, the lowest free
// devices, or for a share the one with the least free that is enough.
func devicesByRule(p *Policy, snap *state.Snapshot, row uint32, j *state.Job, mask uint32) []uint16 {
	ask, free := &j.Shape.Request.Device, snap.Free(row)
	var may []uint16
	for i := range free {
		if ask.Count > 0 && int32(free[i]) >= ask.Milli && (mask == 0 || mask>>i&1 == 1) {
			may = append(may, uint16(i))
		}
	}
	if ask.Count == 0 {
		return nil
	}
	if ask.Shared() {
		slices.SortStableFunc(may, func(a, b uint16) int {
			if p.SeededDevices {
				name := func(i uint16) string { return string(rune('0' + i)) }
				return cmp.Compare(hash(p.Seed, j.ID, name(a)), hash(p.Seed, j.ID, name(b)))
			}
			return cmp.Compare(free[a], free[b])
		})
	}
	return may[:ask.Count]
}

// nearestByRule gives the node with the smallest largest relative shortfall,
// then the smallest name; one that lacks no amount only if there is no other.
func nearestByRule(t fataler, p *Policy, snap *state.Snapshot, j *state.Job, verdict poise.Verdict) *poise.Miss {
	t.Helper()
	var best *poise.Miss
	least := 0.0
	for row := range uint32(snap.Rows()) {
		if !snap.Present(row) {
			continue
		}
		code, dim := refusedByRule(snap, row, j.Shape)
		if code == poise.Fits {
			code = refusedByFilters(t, p, snap, row, j)
		}
		if verdict == poise.FitsNotNow && code.Lasting() {
			continue
		}
		m, part := &poise.Miss{Node: snap.Name(row), Code: code, Dim: dim}, 2+float64(poise.ReasonCodes-code)
		switch code {
		case poise.CapacityShort, poise.DeviceCapacityShort:
			m, part = largestShortfall(snap, row, j.Shape, true)
		case poise.IdleShort, poise.DeviceIdleShort:
			m, part = largestShortfall(snap, row, j.Shape, false)
		}
		if best == nil || part < least || part == least && m.Node < best.Node {
			best, least = m, part
		}
	}
	return best
}

func largestShortfall(snap *state.Snapshot, row uint32, shape *state.Shape, lasting bool) (*poise.Miss, float64) {
	var all []poise.Miss
	for _, a := range shape.Request.Amounts {
		capacity, idle := has(snap, row, a.Name)
		m := poise.Miss{Code: poise.IdleShort, Dim: a.Name, Ask: a.Value, Have: idle}
		if lasting {
			m.Code, m.Have = poise.CapacityShort, capacity
		}
		all = append(all, m)
	}
	if d := shape.Request.Device; d.Count > 0 {
		m := poise.Miss{Code: poise.DeviceIdleShort, Dim: d.Kind, Ask: int64(d.Count) * int64(d.Milli)}
		for _, f := range snap.Free(row) {
			switch {
			case lasting:
				m.Code, m.Have = poise.DeviceCapacityShort, m.Have+1000
			case d.Count == 1 && d.Milli < 1000:
				m.Have = max(m.Have, int64(f))
			case f == 1000:
				m.Have += 1000
			}
		}
		all = append(all, m)
	}
	worst, part := all[0], -1.0
	for _, m := range all {
		if share := float64(m.Ask-m.Have) / float64(m.Ask); m.Ask > m.Have && share > part {
			worst, part = m, share
		}
	}
	worst.Node, worst.Beyond = snap.Name(row), worst.Ask-worst.Have
	return &worst, part
}
