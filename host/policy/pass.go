package policy

import (
	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// pass is one job's look at rows, under one budget.
type pass struct {
	number  uint64
	snap    *state.Snapshot
	job     *state.Job
	block   abi.JobBlock
	domains []abi.DomainBlock
	use     poise.PluginUse

	perRow int64 // fuel that a row adds to the budget
	left   int64 // fuel
	limit  int   // rows of the next call
	most   int   // rows that a call may have: fewer than one that ran out of fuel
	least  int   // rows of a call that a full call's fuel is enough for, as budgeted
	audit  bool

	// Scratch of the audit: which of a call's candidates, their rows, what was said.
	sample, again []uint32
	values, masks []byte
}

// begin readies a pass. Rows add to its budget when they are asked about.
func (g *Guest) begin(snap *state.Snapshot, job *state.Job) {
	p, m := &g.pass, g.module.Manifest
	p.number++
	p.snap, p.job = snap, job
	g.mirror.putJob(&p.block, job)
	p.domains = nil
	if len(m.Domains) > 0 {
		p.domains = g.mirror.domainBlocks(job.Tenant)
	}
	p.use = poise.PluginUse{Name: g.name, Digest: g.module.Digest}
	p.perRow = g.limits.RowFuel
	if m.WantsProfile {
		p.perRow += g.limits.ShapeFuel * int64(len(g.profile.Shapes)) * int64(max(1, g.mirror.devices))
	}
	// No row can use more than a call has.
	p.perRow = min(p.perRow, g.limits.CallFuel)
	p.left = g.limits.JobFuel
	p.limit = int(min(max(g.limits.CallFuel/p.perRow, 1), abi.MaxRows))
	p.most = abi.MaxRows
	p.least = min(p.limit, smallRows)
	p.audit = g.rowPure()
}

// jobSeed gives a number that is the same in every attempt at the job (FNV-1a of
// its id).
func jobSeed(job *state.Job) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(job.ID) {
		h = (h ^ uint64(job.ID[i])) * 1099511628211
	}
	return h
}

// ask puts the rows of a batch to the guest, in as many calls as it takes, and
// reads what it says.
func (g *Guest) ask(b *state.Batch, export string, to said) error {
	audited := g.pass.audit
	f := g.askRows(b, export, to)
	if f == nil && audited != g.pass.audit {
		// The audit found that it is not row-pure: begin again as for any other.
		use := g.pass.use
		g.begin(g.pass.snap, g.pass.job)
		g.pass.use = use
		f = g.askRows(b, export, to)
	}
	if f == nil {
		return nil
	}
	f.Job = string(b.Job.ID)
	g.counters.fault(f.Code)
	return f
}

func (g *Guest) askRows(b *state.Batch, export string, to said) *Fault {
	p := &g.pass
	for at := 0; at < len(b.Rows); {
		rest := b.Rows[at:]
		s, f := g.slotFor(len(rest))
		if f != nil {
			return f
		}
		w := s.cut(rest, min(p.limit, s.layout.Sizes.Rows), g.mirror.numbers)
		left := p.left
		used, full, f := g.call(s, export, w, rest)
		switch {
		case f == nil:
		case s.in.outside(f):
			g.discard(s)
			g.whole = true
			continue
		case f.Code == abi.CodeFuel && full && w.rows > p.least:
			// With fewer rows the same answers need less fuel. The budget is as before,
			// and no other call of the pass gets as many rows: a guest that spins on
			// large calls makes the host try few times.
			g.discard(s)
			p.left = left
			p.most = max(w.rows/2, p.least)
			p.limit = p.most
			continue
		default:
			g.discard(s)
			return f
		}
		rest, a := rest[:w.candidates], s.answers()
		if f := g.read(b, rest, w, a, to.from(at)); f != nil {
			g.discard(s)
			return f
		}
		if p.audit && !g.passes(b, export, rest, a, w) {
			g.impure.Store(true)
			p.audit = false
			g.counters.impure()
			return nil
		}
		at += w.candidates
		p.limit = g.nextLimit(used, w.rows)
	}
	return nil
}

// nextLimit sizes the next call so that it uses three quarters of a call's fuel
// if its rows cost what those of the last one did.
func (g *Guest) nextLimit(used int64, rows int) int {
	each := max(used/int64(rows), 1)
	return int(min(max(g.limits.CallFuel*3/4/each, int64(g.pass.least)), int64(g.pass.most)))
}

// call lays rows out and makes one call. full says that it had the fuel of a
// whole call. One that ended outside of the memory that is there counts nowhere.
func (g *Guest) call(s *slot, export string, w window, rows []uint32) (used int64, full bool, f *Fault) {
	p := &g.pass
	g.lay(s, w, rows)
	p.left += int64(w.rows) * p.perRow
	fuel := min(g.limits.CallFuel, p.left)
	base := s.base
	g.timer.start(w.rows)
	used, f = s.in.call(export, fuel, base, base+uint32(s.layout.Job), base+uint32(s.layout.Out))
	took := g.timer.stop()
	if s.in.outside(f) {
		p.left -= int64(w.rows) * p.perRow
		return 0, false, f
	}
	p.left -= min(used, fuel)
	p.use.Calls++
	p.use.Rows += w.rows
	p.use.Fuel += min(used, fuel)
	g.counters.call(w.rows, min(used, fuel), took)
	if f != nil && f.Code == abi.CodeFuel && fuel < g.limits.CallFuel {
		f.Detail += " (the rest of the job's budget)"
	}
	return used, fuel == g.limits.CallFuel, f
}
