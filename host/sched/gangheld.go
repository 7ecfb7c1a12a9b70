package sched

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Held gives the rows that are kept for the members of a gang that start together, by
// member, false where not all are, or a node has left.
func Held(snap *state.Snapshot, r *state.Reservation, members []*state.Job) ([]uint32, bool) {
	if len(r.Holds) != len(members) {
		return nil, false
	}
	rows := make([]uint32, len(members))
	for i := range members {
		row, there := r.Holds[i].Row(snap)
		if !there || r.Holds[i].Shape != members[i].Shape {
			return nil, false
		}
		rows[i] = row
	}
	return rows, true
}

// heldFor gives the rows that are kept for a gang, by member, nil where none are, it is
// not their time yet, or those that go before it, or what runs, are in the way.
func heldFor(snap *state.Snapshot, members []*state.Job, now poise.Time) []uint32 {
	all := snap.Reservations()
	own := slices.IndexFunc(all, func(r *state.Reservation) bool { return r.For(members[0]) })
	if own < 0 || all[own].Start > now {
		return nil
	}
	rows, ok := Held(snap, all[own], members)
	if !ok {
		return nil
	}
	if start, ok := GangOn(snap, members, rows, now, all[:own]); !ok || !start.Now {
		return nil
	}
	return rows
}

// planHeld places a gang on the rows that are kept for it, if their time has come and
// nothing but the policy may keep it off them. Else the plan is empty.
func (p *Pipeline) planHeld(snap *state.Snapshot, members []*state.Job, pass *Pass, before gangUse) (GangPlan, error) {
	rows := heldFor(snap, members, pass.Now)
	for _, b := range pass.Bars {
		if _, reserved := b.(*Reserved); !reserved && slices.ContainsFunc(rows, func(row uint32) bool { return b.Refuses(row) != 0 }) {
			return GangPlan{}, nil
		}
	}
	if rows == nil {
		return GangPlan{}, nil
	}
	var domains *Domains
	if t := members[0].Gang.Topology; t != nil {
		domains = NewDomains(snap, t)
	}
	return p.planMembers(snap, members, gangOrder(members), pass, domains, before, rows)
}

// GangDelays says whether members of a gang that start now by these decisions, on these
// rows, would delay somebody for whom something is kept and whom they may not.
func GangDelays(snap *state.Snapshot, members []*state.Job, decisions []poise.Decision, rows []uint32, now poise.Time) bool {
	b := NewReserved(snap, members[0], now)
	if b == nil {
		return false
	}
	trial := state.NewTrial(snap, &state.Tentative{})
	trial.Begin(now)
	for _, i := range gangOrder(members) {
		bars := MemberBars([]Bar{b}, trial, members[i])
		if bars[0].Refuses(rows[i]) != 0 || trial.Place(members[i], rows[i], decisions[i].Devices) != nil {
			return true
		}
	}
	return false
}

// together says whether rows for the members of a gang are where its topology wants them.
func together(snap *state.Snapshot, members []*state.Job, rows []uint32) bool {
	t := members[0].Gang.Topology
	if t == nil {
		return true
	}
	d := NewDomains(snap, t)
	if t.Mode == poise.TopologySpread {
		d.eligible(snap, members)
	} else if at := d.of[rows[0]]; at >= 0 {
		d.only(int(at))
	}
	for _, row := range rows {
		if d.of[row] < 0 || !d.open[d.of[row]] {
			return false
		}
		d.Add(row)
	}
	return t.Mode != poise.TopologySpread || slices.Max(d.counts) <= d.least+t.MaxSkew
}

// GangOn is EarliestGang for members that go to these rows, beside what is claimed
// there. False means that they cannot start there together. It costs a match per
// task on the rows and member that goes to its row.
func GangOn(snap *state.Snapshot, members []*state.Job, rows []uint32, now poise.Time, claims []*state.Reservation) (GangStart, bool) {
	if !together(snap, members, rows) {
		return GangStart{}, false
	}
	g := &gathering{snap: snap, members: members, now: now, claims: claims, claimed: map[uint32]bool{}}
	for _, row := range claimedRows(snap, claims) {
		g.claimed[row] = true
	}
	order := gangOrder(members)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a], rows[b]) })
	trial := state.NewTrial(snap, &state.Tentative{})
	var on []*held
	for len(order) > 0 {
		row, n := rows[order[0]], 1
		for n < len(order) && rows[order[n]] == row {
			n++
		}
		on = append(on, newHeld(g, trial, row, order[:n]))
		order = order[n:]
	}
	at := now
	for again := true; again; { // a claim may be in the way later than elsewhere
		again = false
		for _, h := range on {
			from := h.from(at)
			if from == never {
				return GangStart{Rows: rows}, h.holds()
			}
			again, at = again || from > at, from
		}
	}
	return GangStart{Rows: rows, At: max(at, now+1), Now: at == now}, true
}

// held is one row that is kept for some members of a gang.
type held struct {
	g       *gathering
	trial   *state.Trial
	row     uint32
	members []int // in their order
	ends    []ending
	tos     []poise.Time // when claims end
	settled poise.Time   // nothing is claimed, and they fit from then on
}

func newHeld(g *gathering, trial *state.Trial, row uint32, members []int) *held {
	h := &held{g: g, trial: trial, row: row, members: members, settled: never}
	for l := g.snap.Tasks(row); l != nil; l = l.Next {
		h.ends = append(h.ends, ending{endOf(l.Task, g.now), l.Task})
	}
	slices.SortStableFunc(h.ends, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	if g.claimed[row] {
		for _, r := range g.claims {
			for range r.On(g.snap, row) {
				if _, to := spanOf(r, g.now); to < never {
					h.tos = append(h.tos, to)
				}
			}
		}
		slices.Sort(h.tos)
	}
	return h
}

// from gives the first time from a time on at which the members fit, never where that
// depends on what does not end by itself. It is asked about times that only grow.
func (h *held) from(at poise.Time) poise.Time {
	for h.settled > at {
		h.release(at)
		if h.fit(at) {
			if !h.g.claimed[h.row] {
				h.settled = at
			}
			return at
		}
		next := never
		if len(h.ends) > 0 {
			next = h.ends[0].at
		}
		if i, _ := slices.BinarySearch(h.tos, at+1); i < len(h.tos) {
			next = min(next, h.tos[i])
		}
		if at = next; at == never {
			return never
		}
	}
	return at
}

func (h *held) release(until poise.Time) {
	for len(h.ends) > 0 && h.ends[0].at <= until {
		h.trial.Release(h.ends[0].task)
		h.ends = h.ends[1:]
	}
}

// fit says whether the members fit on the row from a time on as the trial is.
func (h *held) fit(at poise.Time) bool {
	p := &placing{g: h.g, at: at, trial: h.trial}
	h.trial.Begin(at)
	placed := 0
	for _, i := range h.members {
		var f fit
		f.resolve(h.g.members[i].Shape, h.trial.View())
		if !p.beside(&f, h.g.members[i], h.row) || h.trial.Place(h.g.members[i], h.row, p.devices(&f, h.row)) != nil {
			break
		}
		placed++
	}
	for range placed {
		h.trial.Release(h.trial.View().Tasks(h.row).Task) // the one that was placed last
	}
	return placed == len(h.members)
}

// holds says whether the members fit once all has ended.
func (h *held) holds() bool {
	for _, e := range h.ends {
		h.trial.Release(e.task)
	}
	h.g.claimed[h.row] = false
	return h.fit(sometime)
}
