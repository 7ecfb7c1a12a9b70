package policy

import (
	"encoding/binary"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Probe asks a plugin one call at a time: its user says which rows a call sees
// and in which order, and nothing is set back between calls. It is what the
// conformance kit and benchmarks look through; what a Guest hides, it shows. It
// follows the snapshots of one State and belongs to one goroutine.
type Probe struct {
	guest *Guest
	slot  *slot
}

// NewProbe binds a plugin to parameters.
func NewProbe(m *Module, params map[string]string) (*Probe, error) {
	g, err := NewGuest(m, params)
	if err != nil {
		return nil, err
	}
	g.whole = true // it shows what is there
	return &Probe{guest: g}, nil
}

// Begin lays out the blocks for a job. The first one makes the instance; another
// one is made where the blocks have outgrown it, and after a fault.
func (p *Probe) Begin(snap *state.Snapshot, job *state.Job) error {
	g := p.guest
	g.Prepare(snap, job)
	if p.slot != nil && (p.slot.in.dead != nil || !g.roomy(p.slot.layout)) {
		p.Close()
	}
	if p.slot == nil {
		s, f := g.newSlot(abi.MaxRows)
		if f != nil {
			return f
		}
		p.slot = s
	}
	g.setUp(p.slot)
	return nil
}

// Room is how many rows a call can have.
func (p *Probe) Room() int { return p.slot.layout.Sizes.Rows }

// Said is what a plugin answered in one call, an element per row. Losses and
// masks are of a score, reasons of a filter; masks are 0 where the plugin does
// not choose devices.
type Said struct {
	Reasons []uint32
	Losses  []float64
	Masks   []uint32
	Fuel    int64
}

// Ask makes one call of an export about rows of the snapshot, at most Room, with
// the fuel that the budget has for them. candidate says which of them are, nil
// stands for all. What the answers are worth is for the caller to judge.
func (p *Probe) Ask(export string, rows []uint32, candidate []bool) (Said, error) {
	g, s := p.guest, p.slot
	g.lay(s, window{candidates: len(rows), rows: len(rows)}, rows)
	arena := s.arena()
	bits := arena[s.layout.Candidate:]
	for i, is := range candidate {
		if !is {
			bits[i/8] &^= 1 << (i % 8)
		}
	}
	// An answer that is not written must not look like one that is.
	fill(arena[s.layout.Values:][:8*len(rows)])
	if s.layout.Masks != 0 {
		fill(arena[s.layout.Masks:][:4*len(rows)])
	}
	used, f := s.in.call(export, g.Budget(len(rows)), s.base, s.base+uint32(s.layout.Job), s.base+uint32(s.layout.Out))
	if f != nil {
		f.Job = string(g.pass.job.ID)
		return Said{}, f
	}
	said := Said{Fuel: used}
	a := s.answers()
	for row := range rows {
		if export == abi.Filter {
			said.Reasons = append(said.Reasons, a.reason(row))
			continue
		}
		said.Losses = append(said.Losses, a.loss(row))
		said.Masks = append(said.Masks, a.mask(row))
	}
	return said, nil
}

// Unwritten is what an answer that the plugin did not write reads as, as a reason
// or a mask; as a loss it is NaN.
const Unwritten = 0xffffffff

func fill(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// Memory is the size of the guest's memory in bytes.
func (p *Probe) Memory() int { return len(p.slot.in.memory()) }

// State copies all that the guest could have changed apart from the answers: its
// mutable globals, 8 bytes each, and its memory outside the host's arena.
func (p *Probe) State() []byte {
	s := p.slot
	var state []byte
	for _, g := range s.in.state {
		state = binary.LittleEndian.AppendUint64(state, g.Get())
	}
	mem := s.in.memory()
	return slices.Concat(state, mem[:s.base], mem[int(s.base)+s.layout.Size:])
}

// Symbols are as for a Guest.
func (p *Probe) Symbols() poise.SymbolsWanted { return p.guest.Symbols() }

// Close frees the instance; Begin makes a new one.
func (p *Probe) Close() {
	if p.slot != nil {
		p.slot.in.close()
		p.slot = nil
	}
}

// Budget is the fuel that a job has for so many rows, as the last Prepare found
// the profile to be. Rows that filter and score are both asked about count for
// each.
func (g *Guest) Budget(rows int) int64 {
	return g.limits.JobFuel + int64(rows)*g.pass.perRow
}

// SetupFuel sets an instance up once more, as far as its manifest, and gives the
// fuel that it used.
func (m *Module) SetupFuel() (int64, error) {
	in, err := m.instantiate()
	if err != nil {
		return 0, err
	}
	defer in.close()
	return m.Limits().SetupFuel - in.setup, nil
}
