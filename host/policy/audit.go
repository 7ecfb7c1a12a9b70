package policy

import (
	"bytes"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/state"
)

// auditEvery is how many answers of a row-pure plugin stand for one that is asked
// for again.
const auditEvery = 100

// passes asks about a sample of the rows again, in the reverse order and in an
// instance that is as after set-up, and says whether the answers are the same to
// the bit. rows are the candidates of the window that a holds the answers of.
// The sample goes by snapshot version, shape and first row: the same on every
// run.
func (g *Guest) passes(b *state.Batch, export string, rows []uint32, a answers, w window) bool {
	p := &g.pass
	p.sample = p.sample[:0]
	mixed := ((b.Snap.Version()*31+uint64(b.Job.Shape.ID))*31 + uint64(rows[0])) * 0x9e3779b97f4a7c15
	for i := int(mixed >> 32 % auditEvery); i < len(rows); i += auditEvery {
		p.sample = append(p.sample, uint32(i))
	}
	slices.Reverse(p.sample)
	if len(p.sample) == 0 {
		return true
	}
	again := make([]uint32, len(p.sample))
	values, masks := make([]byte, 0, 8*len(again)), make([]byte, 0, 4*len(again))
	size := 8
	if export == abi.Filter {
		size = 4
	}
	for k, i := range p.sample {
		again[k] = rows[i]
		r := w.at(rows, int(i))
		values = append(values, a.values[size*r:][:size]...)
		if a.masks != nil && export == abi.Score {
			masks = append(masks, a.masks[4*r:][:4]...)
		}
	}
	for at := 0; at < len(again); {
		rest := again[at:]
		n := min(len(rest), p.least)
		if g.small != nil {
			g.small.pass = 0 // so that it is set back first
		}
		s, f := g.slot(n)
		if f != nil {
			return false
		}
		if _, _, f := g.call(s, export, window{candidates: n, rows: n}, rest); f != nil {
			g.discard(s)
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
