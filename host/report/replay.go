package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/sim"
)

// reasons is the table of why jobs wait at the end, mean over the seeds.
func (s *section) reasons() sheet {
	var names []string
	for _, r := range s.runs() {
		for i := 0; r.Replay != nil && i < len(r.Replay.Reasons); i++ {
			if name := r.Replay.Reasons[i].Reason; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return sheet{}
	}
	t := sheet{Head: []string{""}}
	for _, f := range s.families {
		t.Head = append(t.Head, plain(f.policy))
	}
	for _, name := range names {
		row := sheetRow{Cells: []cell{{Text: plain(name)}}}
		for _, f := range s.families {
			waits := measure{of: replayed(func(r *sim.ReplayResult) float64 {
				i := slices.IndexFunc(r.Reasons, func(of sim.Reason) bool { return of.Reason == name })
				if i < 0 {
					return 0
				}
				return float64(r.Reasons[i].Jobs)
			})}
			v := f.stat(&waits).mean
			row.Cells = append(row.Cells, cell{Text: number(v, decimalsOf(v))})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// waiting is the table of the jobs that still wait at the end, the most
// frequent kinds first, each with what it came nearest to.
func (s *section) waiting() sheet {
	type entry struct {
		class string
		run   *sim.Result
		w     *sim.Waiting
	}
	var all []entry
	for i, f := range s.families {
		for _, r := range f.runs {
			if r.Replay == nil {
				continue
			}
			for k := range r.Replay.Waiting {
				all = append(all, entry{seriesClass(i), r, &r.Replay.Waiting[k]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.w.Jobs, a.w.Jobs) })
	t := sheet{Head: []string{"policy", "seed", "jobs", "first of them", "asks for", "why"}}
	for i, e := range all {
		if i == waitingShown {
			t.More = fmt.Sprintf("and %d kinds more", len(all)-waitingShown)
			break
		}
		t.Rows = append(t.Rows, sheetRow{Class: e.class, Cells: []cell{
			{Text: plain(e.run.Policy)},
			{Text: strconv.FormatInt(e.run.Seed, 10)},
			{Text: strconv.Itoa(e.w.Jobs)},
			{Text: plain(e.w.Job)},
			{Text: requestText(&e.w.Request)},
			{Text: waitText(e.w)},
		}})
	}
	return t
}
