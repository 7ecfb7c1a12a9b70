package report

import (
	"io"
	"math"

	"github.com/poise-sched/poise/host/sim"
)

// happenedMeasures are what came about in a replay beside placements, as the text, the
// page and CSV have it.
func happenedMeasures() []measure {
	count := func(of func(*sim.ReplayResult) int) func(*sim.Result) float64 {
		return replayed(func(r *sim.ReplayResult) float64 { return float64(of(r)) })
	}
	return []measure{
		{head: "succeeded", key: "jobs_succeeded", of: count(func(r *sim.ReplayResult) int { return r.Succeeded })},
		{head: "failed", key: "jobs_failed", of: count(func(r *sim.ReplayResult) int { return r.Ends.Failed })},
		{head: "withdrawn", key: "jobs_withdrawn", of: count(func(r *sim.ReplayResult) int { return r.Withdrawn })},
		{head: "run at the end", key: "jobs_running", of: count(func(r *sim.ReplayResult) int { return r.Running })},
		{head: "gangs started", key: "gangs_started", of: count(func(r *sim.ReplayResult) int { return r.Gangs })},
		{head: "retries", key: "retries", of: count(func(r *sim.ReplayResult) int { return r.Retries })},
		{head: "deadlines missed", key: "deadlines_missed", of: count(func(r *sim.ReplayResult) int { return r.Missed })},
		{head: "tasks that made room", key: "preemptions", of: count(func(r *sim.ReplayResult) int { return r.Preempted })},
		{head: "circles of jobs that displaced each other", key: "preemption_circles", of: count(func(r *sim.ReplayResult) int { return r.Circles })},
		{head: "reservations", key: "reservations", of: count(func(r *sim.ReplayResult) int { return r.Reservations })},
		{head: "started by the time promised", key: "reservations_kept", of: count(func(r *sim.ReplayResult) int { return r.Kept })},
		{head: "started later than promised", key: "reservations_late", of: count(func(r *sim.ReplayResult) int { return r.Late })},
	}
}

// writeHappened says what came about beside placements, where something did.
func writeHappened(w io.Writer, r *sim.Result) error {
	g := grid{indent: "  ", left: 1}
	measures := happenedMeasures()
	for i := range measures {
		if v := measures[i].of(r); v > 0 {
			g.add(measures[i].head, measures[i].text(v))
		}
	}
	if len(g.rows) == 0 {
		return nil
	}
	g.add()
	return g.write(w)
}

// happened is the table of what came about under each policy, a line each, mean over
// the seeds: what did under any of them.
func (s *section) happened() sheet {
	t := sheet{Head: []string{""}}
	for _, f := range s.families {
		t.Head = append(t.Head, plain(f.policy))
	}
	measures := happenedMeasures()
	for i := range measures {
		row, any := sheetRow{Cells: []cell{{Text: measures[i].head}}}, false
		for _, f := range s.families {
			v := f.stat(&measures[i])
			any = any || v.hi > 0
			c := cell{Text: number(v.mean, decimalsOf(v.mean))}
			if v.lo != v.hi && !math.IsNaN(v.lo) {
				c.Note = number(v.lo, 0) + " to " + number(v.hi, 0)
			}
			row.Cells = append(row.Cells, c)
		}
		if any {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// decimalsOf is how many a mean of counts needs: none where it is whole.
func decimalsOf(v float64) int {
	if v == math.Trunc(v) {
		return 0
	}
	return 1
}
