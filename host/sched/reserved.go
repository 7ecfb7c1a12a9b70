package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Reserved is the Bar of reservations: a job may take a reserved row if it has
// ended before the reserved job starts, by what both declare, or if the reserved
// job fits beside it then. A job without a run time never ends. What the job does
// not ask for it delays nobody in.
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
// The job may stand for a gang, with what all its members ask for.
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

// Rows implements Lister.
func (b *Reserved) Rows() []uint32 { return claimedRows(b.snap, b.claims) }

func claimedRows(snap *state.Snapshot, claims []*state.Reservation) []uint32 {
	var rows []uint32
	for _, r := range claims {
		for i := range r.Holds {
			if row, ok := r.Holds[i].Row(snap); ok {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Refuses implements Bar. Where the job has a reservation itself, it respects
// those of all others, so that what they were promised holds; on the row that is
// reserved for it, once its time has come or where that is not known, only of
// those that go before it: the first in order is held up by nobody.
func (b *Reserved) Refuses(row uint32) poise.Reason {
	claims := b.claims
	if b.own != nil && b.own.Start <= b.now && claimed(b.snap, row, []*state.Reservation{b.own}) {
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
