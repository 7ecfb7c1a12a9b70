package main

import (
	"fmt"
	"io"

	"github.com/poise-sched/poise/host/sim"
)

// replayPolicies are the columns of the replay table.
var replayPolicies = []string{"best-fit", "fgd", "idle-balance-spread", ours}

// openbJobs is how many jobs one copy of the default workload has.
const openbJobs = 8152

// replayMean is a policy's means over seeds.
type replayMean struct{ wait, p99, alloc, pending, load float64 }

func replayMeans(results []*sim.Result) map[string]replayMean {
	sums, runs := map[string]replayMean{}, map[string]float64{}
	for _, r := range results {
		s := sums[r.Policy]
		s.wait += r.Replay.MeanWait
		s.p99 += r.Replay.P99Wait
		s.alloc += r.Replay.Alloc
		s.load += r.Replay.Load
		s.pending += float64(r.Replay.Pending)
		sums[r.Policy] = s
		runs[r.Policy]++
	}
	for policy, s := range sums {
		n := runs[policy]
		sums[policy] = replayMean{s.wait / n, s.p99 / n, s.alloc / n, s.pending / n, s.load / n}
	}
	return sums
}

// replayRow writes the means over the seeds of one fleet and load, and checks
// the two rows that have a goal.
func replayRow(w io.Writer, results []*sim.Result) (failures []string) {
	means := replayMeans(results)
	nodes, copies := results[0].Nodes, results[0].Jobs/openbJobs
	fmt.Fprintf(w, "| %d, x%d (%.0f %%) |", nodes, copies, means[ours].load)
	for _, policy := range replayPolicies {
		m := means[policy]
		fmt.Fprintf(w, " %.0f / %.0f / %.1f / %.0f |", m.wait, m.p99, m.alloc, m.pending)
	}
	fmt.Fprintln(w)
	switch {
	case nodes == 122 && copies == 10 && means[ours].wait > 20:
		failures = append(failures, fmt.Sprintf("replay 122 nodes x10: mean wait %.0f s, goal 20 s", means[ours].wait))
	case nodes == 122 && copies == 14 && means[ours].wait > means["fgd"].wait:
		failures = append(failures, fmt.Sprintf("replay 122 nodes x14: mean wait %.0f s, goal fgd's %.0f s", means[ours].wait, means["fgd"].wait))
	}
	return failures
}
