package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sim"
)

// tenants is the table of how each tenant fared under each policy, where there
// are several tenants.
func (s *section) tenants() sheet {
	var names []poise.TenantID
	for _, r := range s.runs() {
		if r.Replay == nil {
			continue
		}
		for _, u := range r.Replay.Tenants {
			if !slices.Contains(names, u.Tenant) {
				names = append(names, u.Tenant)
			}
		}
	}
	if len(names) < 2 {
		return sheet{}
	}
	t := sheet{Head: []string{"policy", "tenant", "jobs", "placed", "mean wait s", "p99 wait s", "slowdown", "share %"}}
	for _, name := range names {
		for i, f := range s.families {
			var jobs, placed, wait, p99, slow, share []float64
			for _, r := range f.runs {
				if r.Replay == nil {
					continue
				}
				for _, u := range r.Replay.Tenants {
					if u.Tenant == name {
						jobs, placed, wait = append(jobs, float64(u.Jobs)), append(placed, float64(u.Placed)), append(wait, u.MeanWait)
						p99, slow, share = append(p99, u.P99Wait), append(slow, u.Slowdown), append(share, 100*u.Share)
					}
				}
			}
			t.Rows = append(t.Rows, sheetRow{Class: seriesClass(i), Cells: []cell{
				{Text: plain(f.policy)},
				{Text: plain(string(name))},
				{Text: number(statOf(jobs).mean, 0)},
				{Text: number(statOf(placed).mean, 0)},
				{Text: number(statOf(wait).mean, 1)},
				{Text: number(statOf(p99).mean, 1)},
				{Text: number(statOf(slow).mean, 2)},
				{Text: number(statOf(share).mean, 1)},
			}})
		}
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
