package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Reserved is the Bar of reservations: a job may take a reserved row if it has
// ended before the reserved job starts, by what both declare, or if the reserved
// job fits beside it then. A job without a run time never ends. What the job does
// not ask for it delays nobody in. Members of a gang are asked about one by one, each
// beside those that have a place already.
type Reserved struct {
	snap   *state.Snapshot
	job    *state.Job
	now    poise.Time
	claims []*state.Reservation // of others
	before []*state.Reservation // of those that go before; on a row of its own these count
	own    *state.Reservation   // nil = none
	line   timeline
	fit    fit
}

var (
	_ Bar    = (*Reserved)(nil)
	_ Lister = (*Reserved)(nil)
)

// NewReserved gives the Bar for a job, nil where nothing is reserved for others.
// For a gang the job is one of its members, see MemberBars.
func NewReserved(snap *state.Snapshot, job *state.Job, now poise.Time) *Reserved {
	all := snap.Reservations()
	i := slices.IndexFunc(all, func(r *state.Reservation) bool { return r.For(job) })
	if len(all) == 0 || len(all) == 1 && i == 0 {
		return nil
	}
	b := &Reserved{snap: snap, job: job, now: now, claims: all}
	if i >= 0 {
		b.own, b.before = all[i], all[:i]
		b.claims = append(slices.Clone(all[:i]), all[i+1:]...)
	}
	b.fit.resolve(job.Shape, snap)
	return b
}

// MemberBars gives the bars for a member of a gang, beside those that are placed on a
// trial so far.
func MemberBars(bars []Bar, trial *state.Trial, member *state.Job) []Bar {
	i := slices.IndexFunc(bars, func(b Bar) bool { _, ok := b.(*Reserved); return ok })
	if i < 0 {
		return bars
	}
	own := *bars[i].(*Reserved)
	own.snap, own.job, own.fit = trial.View(), member, fit{}
	own.fit.resolve(member.Shape, own.snap)
	bars = slices.Clone(bars)
	bars[i] = &own
	return bars
}

// Rows implements Lister.
func (b *Reserved) Rows() []uint32 { return claimedRows(b.snap, b.claims) }

func claimedRows(snap *state.Snapshot, claims []*state.Reservation) []uint32 {
	var rows []uint32
	for _, r := range claims {
		rows = append(rows, r.Rows(snap)...)
	}
	return rows
}

// Refuses implements Bar. Where the job has a reservation itself, it respects
// those of all others, so that what they were promised holds; on the row that is
// reserved for it, once its time has come or where that is not known, only of
// those that go before it: the first in order is held up by nobody. There are as many
// places for members of a gang as are kept there.
func (b *Reserved) Refuses(row uint32) poise.Reason {
	claims := b.claims
	if b.ownPlace(row) {
		claims = b.before
	}
	if !claimed(b.snap, row, claims) {
		return 0
	}
	b.line.reset(&b.fit, b.snap, row, b.now, claims)
	if b.line.delays(b.now, b.job.RunTime) {
		return poise.NewReason(poise.Reserved, 0)
	}
	return 0
}

// ownPlace says whether the row is kept for the job from now on, or for one more member
// of its gang.
func (b *Reserved) ownPlace(row uint32) bool {
	if b.own == nil || b.own.Start > b.now {
		return false
	}
	places := 0
	for h := range b.own.On(b.snap, row) {
		if h.Shape == b.job.Shape {
			places++
		}
	}
	for l := b.snap.Tasks(row); l != nil && places > 0; l = l.Next {
		if l.Task.Beside(b.job) && l.Task.Shape == b.job.Shape {
			places--
		}
	}
	return places > 0
}
