package loop

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Spare gives the events by which a job runs on that was to make room and cannot now:
// it is not asked again before a time. What is kept for the other one is given up,
// unless more tasks made room for it, or are about to.
func (l *Loop) Spare(j *state.Job, until poise.Time) []poise.Body {
	events := []poise.Body{poise.JobSpared{Job: j.ID, Until: until}}
	by := l.state.Job(j.Yield.By)
	if by == nil || l.state.View().Reservation(by.ID) == nil {
		return events
	}
	for _, id := range by.Yield.Took {
		if id != j.ID {
			return events
		}
	}
	return append(events, poise.ReservationEnded{Job: by.ID})
}
