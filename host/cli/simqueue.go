package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
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

// What the flags say of themselves.
const (
	aboutReservations  = "replay: for how many blocked jobs nodes are kept at a time, as queue.reservations of the daemon"
	aboutPatience      = "replay: how long a job has to have waited before nodes are kept for it, as queue.patience"
	aboutPreemption    = "replay: whose tasks end for a job that fits, but not now: off (extra members of gangs alone), priority, reclaim or both, as queue.preemption"
	aboutUsageHalfLife = "replay: time after which what a tenant held counts half in its fair share, 0 = the past counts nothing, as queue.usage_half_life"
)

func (q *simQueue) flags(f *pflag.FlagSet) {
	f.IntVar(&q.reservations, "reservations", 1, aboutReservations)
	f.DurationVar(&q.patience, "patience", 0, aboutPatience)
	f.StringVar(&q.preemption, "preemption", "off", aboutPreemption)
	f.DurationVar(&q.usageHalfLife, "usage-half-life", 0, aboutUsageHalfLife)
}

// simQueues are the settings to compare: each with each.
type simQueues struct {
	reservations  []int
	patience      []time.Duration
	preemption    []string
	usageHalfLife []time.Duration
}

func (q *simQueues) flags(f *pflag.FlagSet) {
	const several = "; several by commas, each with each of the others"
	f.IntSliceVar(&q.reservations, "reservations", []int{1}, aboutReservations+several)
	f.DurationSliceVar(&q.patience, "patience", []time.Duration{0}, aboutPatience+several)
	f.StringSliceVar(&q.preemption, "preemption", []string{"off"}, aboutPreemption+several)
	f.DurationSliceVar(&q.usageHalfLife, "usage-half-life", []time.Duration{0}, aboutUsageHalfLife+several)
}

func (q *simQueues) all() []simQueue {
	var all []simQueue
	for _, reservations := range q.reservations {
		for _, patience := range q.patience {
			for _, preemption := range q.preemption {
				for _, usage := range q.usageHalfLife {
					all = append(all, simQueue{reservations, patience, preemption, usage})
				}
			}
		}
	}
	return all
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

// queueHead prints the settings above a table, each with all that it was in turn.
func queueHead(w io.Writer, queues []simQueue) error {
	each := func(name string, of func(*simQueue) string) string {
		var all []string
		for i := range queues {
			if text := of(&queues[i]); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return name + " " + strings.Join(all, " or ")
	}
	_, err := fmt.Fprintf(w, "queue: %s, %s, %s, %s\n\n",
		each("reservations", func(q *simQueue) string { return strconv.Itoa(q.reservations) }),
		each("patience", func(q *simQueue) string { return q.patience.String() }),
		each("preemption", func(q *simQueue) string { return q.preemption }),
		each("usage half-life", func(q *simQueue) string { return q.usageHalfLife.String() }))
	return err
}
