package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Basis is what a decision was made on, for one who decides on the same somewhere
// else. Nothing in it changes.
type Basis struct {
	Job     state.Job
	Members []*state.Job // of a gang that is to start, by index; nil for a single job
	Snap    *state.Snapshot
	Index   uint64 // of the last event that the snapshot has seen

	now    poise.Time
	pooled []sched.Bar
}

// Basis gives what a decision was made on that Settle gave for a piece of work. It
// is to be asked before the state changes.
func (l *Loop) Basis(w *Work, d *poise.Decision) *Basis {
	b := &Basis{Job: w.Job, Members: w.members, Snap: w.snap, Index: w.Index, now: d.Now}
	if w.Away && w.snap.Version() == d.Version {
		b.pooled = slices.DeleteFunc(slices.Clone(w.bars), func(bar sched.Bar) bool { _, is := bar.(*sched.Reserved); return is })
		return b
	}
	b.Snap, b.Index = l.state.Snapshot(), l.state.Index()
	b.pooled = pooled(l.state, b.Snap, l.state.Job(w.Job.ID))
	return b
}

// Bars gives what kept the job off nodes beside its policy, for one goroutine.
func (b *Basis) Bars() []sched.Bar {
	if r := sched.NewReserved(b.Snap, &b.Job, b.now); r != nil {
		return append(slices.Clip(b.pooled), r)
	}
	return b.pooled
}
