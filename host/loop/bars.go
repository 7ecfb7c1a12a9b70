package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Bars gives what keeps a job off rows of a snapshot of the state, beside its
// policy: quotas of pools, the members that run of its gang, and at that time what
// is reserved for others. What a gang that waits to start asks for counts as a whole
// in each pool.
func Bars(s *state.State, snap *state.Snapshot, j *state.Job, now poise.Time) []sched.Bar {
	bars := pooled(s, snap, j)
	if b := sched.NewReserved(snap, j, now); b != nil {
		bars = append(bars, b)
	}
	return bars
}

// pooled gives the bars that are no reservations.
func pooled(s *state.State, snap *state.Snapshot, j *state.Job) []sched.Bar {
	var bars []sched.Bar
	if b := s.PoolBar(snap, Asks(s, j)); b != nil {
		bars = append(bars, b)
	}
	if j.Gang != nil && j.Gang.Topology != nil && s.GangOf(j) != nil && s.Alone(j) {
		bars = append(bars, sched.Beside(snap, j, s.Beside(j)))
	}
	return append(bars, podBars(s, snap, j)...)
}

// podBars gives the bar of rules about pods, of the members of a gang each.
func podBars(s *state.State, snap *state.Snapshot, j *state.Job) []sched.Bar {
	switch {
	case j.BecomesPod():
		return sched.JobBars(snap, s.RuledKinds(), func(cluster string) *state.Job { return s.AsPod(j, cluster) })
	case j.Kind == nil:
		return nil
	}
	var bars []sched.Bar
	if b := sched.NewPodBar(snap, s.PodKinds(), j); b != nil {
		bars = append(bars, b)
	}
	if l := sched.NewPodLean(snap, s.PodKinds(), j); l != nil {
		bars = append(bars, l)
	}
	return bars
}

// barred says whether something keeps a job off a row.
func barred(bars []sched.Bar, row uint32) bool {
	return slices.ContainsFunc(bars, func(b sched.Bar) bool { return b.Refuses(row) != 0 })
}
