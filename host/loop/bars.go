package loop

import (
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Bars gives what keeps a job off rows of a snapshot of the state, beside its
// policy: quotas of pools.
func Bars(s *state.State, snap *state.Snapshot, j *state.Job) []sched.Bar {
	var bars []sched.Bar
	if b := s.PoolBar(snap, j); b != nil {
		bars = append(bars, b)
	}
	return bars
}

// barred says whether something keeps the job off a row of the live view by now.
func (l *Loop) barred(j *state.Job, row uint32) bool {
	for _, b := range Bars(l.state, l.state.View(), j) {
		if b.Refuses(row) != 0 {
			return true
		}
	}
	return false
}
