package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/sim"
)

// simQueue are the settings of the queue that a replay takes by flags, as the
// daemon does by queue.*.
type simQueue struct {
	reservations  int
	patience      time.Duration
	preemption    string
	usageHalfLife time.Duration
}

// preemptions are what the flag preemption takes.
var preemptions = []string{"off", "priority", "reclaim", "both"}

func (q *simQueue) flags(f *pflag.FlagSet) {
	f.IntVar(&q.reservations, "reservations", 1, "replay: for how many blocked jobs nodes are kept at a time, as queue.reservations of the daemon")
	f.DurationVar(&q.patience, "patience", 0, "replay: how long a job has to have waited before nodes are kept for it, as queue.patience")
	f.StringVar(&q.preemption, "preemption", "off", "replay: whose tasks end for a job that fits, but not now: off (extra members of gangs alone), priority, reclaim or both, as queue.preemption")
	f.DurationVar(&q.usageHalfLife, "usage-half-life", 0, "replay: time after which what a tenant held counts half in its fair share, 0 = the past counts nothing, as queue.usage_half_life")
}

func (q *simQueue) check() error {
	const year = 365 * 24 * time.Hour
	if q.reservations < 0 || q.reservations > poise.MaxReservations {
		return usagef("--reservations %d: expected 0 to %d", q.reservations, poise.MaxReservations)
	}
	for _, f := range []struct {
		flag    string
		v, most time.Duration
	}{{"patience", q.patience, year}, {"usage-half-life", q.usageHalfLife, 10 * year}} {
		if f.v < 0 || f.v > f.most || f.v%time.Millisecond != 0 {
			return usagef("--%s %s: expected whole milliseconds, 0 to %s", f.flag, f.v, f.most)
		}
	}
	for _, p := range preemptions {
		if q.preemption == p {
			return nil
		}
	}
	return usagef("--preemption %q: expected %s", q.preemption, strings.Join(preemptions, ", "))
}

// changed says whether anything is not as a replay has it by default.
func (q *simQueue) changed() bool {
	return q.patience != 0 || q.preemption != "off" || q.usageHalfLife != 0
}

// set gives a run the settings, those of preemption that have no flag as an
// installation has them that sets none.
func (q *simQueue) set(c *sim.Config) {
	c.Reservations, c.Patience = q.reservations, poise.Span(q.patience.Milliseconds())
	c.UsageHalfLife = poise.Span(q.usageHalfLife.Milliseconds())
	s := preempt.Defaults()
	s.Priority = q.preemption == "priority" || q.preemption == "both"
	s.Reclaim = q.preemption == "reclaim" || q.preemption == "both"
	s.Patience = c.Patience
	c.Preempt = &s
}

// used is what a result says of the settings.
func (q *simQueue) used() *sim.QueueUsed {
	return &sim.QueueUsed{
		Reservations: q.reservations, Patience: q.patience.Seconds(), Preemption: q.preemption, UsageHalfLife: q.usageHalfLife.Seconds(),
	}
}

// head prints the settings above a table.
func (q *simQueue) head(w io.Writer) error {
	_, err := fmt.Fprintf(w, "queue: reservations %d, patience %s, preemption %s, usage half-life %s\n\n", q.reservations, q.patience, q.preemption, q.usageHalfLife)
	return err
}
