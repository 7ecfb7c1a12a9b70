package report

import "github.com/poise-sched/poise/host/sim"

// mostShares is how many tenants a chart of shares has room for.
const mostShares = 8

// shares draws each tenant's dominant share over time, a chart a policy, of its
// first run, where there are several tenants. The time is in units of hours/per.
func (s *section) shares(unit string, per, xHi float64) []drawing {
	var all []drawing
	for _, f := range s.families {
		r := f.runs[0].Replay
		if r == nil || len(r.Tenants) < 2 || len(r.Series) < 2 {
			continue
		}
		c := chart{
			title: "dominant shares, " + plain(f.policy), label: "dominant share of each tenant in percent over time",
			xTitle: unit + " since the start", yTitle: "dominant share, %", xHi: xHi, names: true,
		}
		for i := range r.Tenants[:min(len(r.Tenants), mostShares)] {
			t := &r.Tenants[i]
			c.lines = append(c.lines, series{name: plain(string(t.Tenant)), class: seriesClass(i), points: sharePoints(t, r.Series, per)})
			for _, p := range c.lines[i].points {
				c.yHi = max(c.yHi, p.hi)
			}
		}
		if c.yHi > 0 {
			all = append(all, c.draw(chartWidth))
		}
	}
	return all
}

// sharePoints gives a tenant's shares in percent at the points of the series.
func sharePoints(t *sim.TenantUse, at []sim.Point, per float64) []curvePoint {
	points := make([]curvePoint, 0, len(at))
	for i := range at[:min(len(at), len(t.Shares))] {
		v := 100 * t.Shares[i]
		points = append(points, curvePoint{at[i].X * per, stat{v, v, v}})
	}
	return points
}
