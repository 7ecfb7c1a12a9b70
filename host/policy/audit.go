package policy

import (
	"bytes"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/state"
)

// One call in auditCalls of a row-pure plugin is audited, and of its rows one in
// auditRows is asked about again: about 1 % of the answers, for few restores.
const (
	auditCalls = 8
	auditRows  = 12
)

// passes asks about a sample of the rows again, in the reverse order and in an
// instance that is as after set-up, and says whether the answers are the same to
// the bit. rows are the candidates of the window that a holds the answers of.
// Which ones goes by the number of the pass and the first row: the same on
// every run.
func (g *Guest) passes(b *state.Batch, export string, rows []uint32, a answers, w window) bool {
	p := &g.pass
	p.sample = p.sample[:0]
	mixed := (p.number*31 + uint64(rows[0])) * 0x9e3779b97f4a7c15
	if mixed>>60%auditCalls != 0 {
		return true
	}
	for i := int(mixed >> 32 % auditRows); i < len(rows); i += auditRows {
		p.sample = append(p.sample, uint32(i))
	}
	slices.Reverse(p.sample)
	if len(p.sample) == 0 {
		return true
	}
	again, values, masks := p.again[:0], p.values[:0], p.masks[:0]
	size := 8
	if export == abi.Filter {
		size = 4
	}
	for _, i := range p.sample {
		again = append(again, rows[i])
		r := w.at(rows, int(i))
		values = append(values, a.values[size*r:][:size]...)
		if a.masks != nil && export == abi.Score {
			masks = append(masks, a.masks[4*r:][:4]...)
		}
	}
	p.again, p.values, p.masks = again, values, masks
	if g.small != nil {
		g.small.pass = 0 // so that it is set back first
	}
	// The job does not pay for it: each call gets the fuel of a whole one, which was
	// enough for these rows among others.
	left := p.left
	defer func() { p.left = left }()
	for at := 0; at < len(again); {
		rest := again[at:]
		n := min(len(rest), smallRows)
		s, f := g.slot(&g.small, smallRows, 0)
		if f != nil {
			return true // no instance, no evidence
		}
		p.left = g.limits.CallFuel
		if _, _, f := g.call(s, export, window{candidates: n, rows: n}, rest); f != nil {
			g.discard(s)
			if s.in.outside(f) {
				g.whole = true
				continue
			}
			return false
		}
		arena := s.arena()
		if !bytes.Equal(arena[s.layout.Values:][:size*n], values[size*at:][:size*n]) {
			return false
		}
		if len(masks) > 0 && !bytes.Equal(arena[s.layout.Masks:][:4*n], masks[4*at:][:4*n]) {
			return false
		}
		at += n
	}
	g.counters.audited(len(again))
	return true
}
