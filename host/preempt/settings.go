package preempt

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// Settings say who may be displaced, and how.
type Settings struct {
	Priority bool // by a job of the same tenant with a higher priority
	Reclaim  bool // by a job whose tenant stays within its guarantee
	// Grace is how long a task that is to end is given.
	Grace poise.Span
	// Cooldown is how long a job that was displaced, or for which others were, runs
	// before it is displaced.
	Cooldown poise.Span
	// Patience is how long a job waits before extra members of gangs end for it.
	Patience poise.Span
	// Hold is how long an extra member runs before it ends for others, and how long
	// it then waits before it starts again.
	Hold poise.Span
}

// Defaults gives the settings of an installation that has none: nobody but extra
// members of gangs is displaced.
func Defaults() Settings {
	return Settings{Grace: 30_000, Cooldown: 600_000, Patience: 60_000, Hold: 60_000}
}

// maxSpan bounds each span.
const maxSpan poise.Span = 7 * 24 * 3600_000

// Validate names the first field that is wrong.
func (s *Settings) Validate() error {
	for _, f := range []struct {
		name string
		span poise.Span
	}{{"grace", s.Grace}, {"cool-down", s.Cooldown}, {"patience", s.Patience}, {"hold", s.Hold}} {
		if f.span < 0 || f.span > maxSpan {
			return &poise.Error{Kind: poise.Invalid, Op: "preemption settings", Detail: fmt.Sprintf("%s: %d ms, expected 0 to %d", f.name, f.span, maxSpan)}
		}
	}
	return nil
}
