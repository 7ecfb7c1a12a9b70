package report

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/sim"
)

// fared is how the jobs of one tenant or size fared in a run.
type fared struct {
	name         string
	jobs, placed int
	wait, p99    float64 // seconds
	slow         float64
	share        float64 // percent; of sizes 0
}

// tenantsOf gives how the tenants of a run fared.
func tenantsOf(r *sim.ReplayResult) []fared {
	var all []fared
	for i := range r.Tenants {
		u := &r.Tenants[i]
		all = append(all, fared{plain(string(u.Tenant)), u.Jobs, u.Placed, u.MeanWait, u.P99Wait, u.Slowdown, 100 * u.Share})
	}
	return all
}

// sizesOf gives how the sizes of jobs of a run fared.
func sizesOf(r *sim.ReplayResult) []fared {
	var all []fared
	for i := range r.Sizes {
		u := &r.Sizes[i]
		all = append(all, fared{plain(u.Size), u.Jobs, u.Placed, u.MeanWait, u.P99Wait, u.Slowdown, 0})
	}
	return all
}

// faredBy is the same of all runs of a section.
type faredBy struct {
	names []string             // in the order in which they first come
	of    []map[string][]fared // by policy and name, one a run
}

func (s *section) faredBy(of func(*sim.ReplayResult) []fared) *faredBy {
	by := &faredBy{}
	for _, f := range s.families {
		found := map[string][]fared{}
		for _, r := range f.runs {
			if r.Replay == nil {
				continue
			}
			for _, u := range of(r.Replay) {
				if found[u.name] = append(found[u.name], u); !slices.Contains(by.names, u.name) {
					by.names = append(by.names, u.name)
				}
			}
		}
		by.of = append(by.of, found)
	}
	return by
}

// stat takes the mean of a figure over the runs of a policy.
func (by *faredBy) stat(policy int, name string, of func(*fared) float64) stat {
	var values []float64
	for i := range by.of[policy][name] {
		values = append(values, of(&by.of[policy][name][i]))
	}
	return statOf(values)
}

// sheet is the table of how jobs of each name fared under each policy, where there
// are several names.
func (s *section) sheet(what string, by *faredBy, shares bool) sheet {
	if len(by.names) < 2 {
		return sheet{}
	}
	t := sheet{Head: []string{"policy", what, "jobs", "placed", "mean wait s", "p99 wait s", "slowdown"}}
	if shares {
		t.Head = append(t.Head, "share %")
	}
	for _, name := range by.names {
		for i, f := range s.families {
			mean := func(decimals int, of func(*fared) float64) cell {
				return cell{Text: number(by.stat(i, name, of).mean, decimals)}
			}
			row := sheetRow{Class: seriesClass(i), Cells: []cell{
				{Text: plain(f.policy)},
				{Text: name},
				mean(0, func(u *fared) float64 { return float64(u.jobs) }),
				mean(0, func(u *fared) float64 { return float64(u.placed) }),
				mean(1, func(u *fared) float64 { return u.wait }),
				mean(1, func(u *fared) float64 { return u.p99 }),
				mean(2, func(u *fared) float64 { return u.slow }),
			}}
			if shares {
				row.Cells = append(row.Cells, mean(1, func(u *fared) float64 { return u.share }))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// mostWaits is how many tenants or sizes a chart of waits has room for.
const mostWaits = 10

// faredWaits draws the mean wait of each name under each policy, where there are
// several names.
func (s *section) faredWaits(what string, by *faredBy) []drawing {
	if len(by.names) < 2 {
		return nil
	}
	b := bars{title: "mean wait by " + what + ", seconds", label: "mean wait by " + what + " and policy, in seconds", hi: 1}
	for _, name := range by.names[:min(len(by.names), mostWaits)] {
		g := barGroup{name: name}
		for i, f := range s.families {
			w := by.stat(i, name, func(u *fared) float64 { return u.wait }).mean
			g.bars = append(g.bars, bar{class: seriesClass(i), value: w, text: number(w, 1), tip: plain(f.policy) + ": " + number(w, 1) + " s"})
			if !math.IsNaN(w) && w <= drawable {
				b.hi = max(b.hi, w)
			}
		}
		b.groups = append(b.groups, g)
	}
	return []drawing{b.draw(chartWidth)}
}
