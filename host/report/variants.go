package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/sim"
)

// queueWords are what names a way in which the queue is set.
var queueWords = []func(*sim.QueueUsed) string{
	func(q *sim.QueueUsed) string { return fmt.Sprintf("reservations %d", q.Reservations) },
	func(q *sim.QueueUsed) string { return "patience " + spanText(q.Patience) },
	func(q *sim.QueueUsed) string { return "preemption " + q.Preemption },
	func(q *sim.QueueUsed) string { return "usage half-life " + spanText(q.UsageHalfLife) },
}

// queueOf gives how the queue of a run was set, nil where it has none.
func queueOf(r *sim.Result) *sim.QueueUsed {
	if r.Replay == nil {
		return nil
	}
	return r.Replay.Queue
}

func spanText(seconds float64) string { return time.Duration(seconds * float64(time.Second)).String() }

// variants gives the results with their policies named by what of the queue differs
// among them too, or by that alone where there is one policy, so that they are told
// apart. Results are not changed.
func variants(results []*sim.Result) []*sim.Result {
	words := slices.DeleteFunc(slices.Clone(queueWords), func(word func(*sim.QueueUsed) string) bool {
		seen := map[string]bool{}
		for _, r := range results {
			if q := queueOf(r); q != nil {
				seen[word(q)] = true
			}
		}
		return len(seen) < 2
	})
	if len(words) == 0 {
		return results
	}
	one := !slices.ContainsFunc(results, func(r *sim.Result) bool { return r.Policy != results[0].Policy })
	named := make([]*sim.Result, len(results))
	for i, r := range results {
		copied := *r
		if q := queueOf(r); q != nil {
			var name []string
			if !one {
				name = []string{r.Policy}
			}
			for _, word := range words {
				name = append(name, word(q))
			}
			copied.Policy = strings.Join(name, ", ")
		}
		named[i] = &copied
	}
	return named
}
