package report

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/sim"
)

// lines gives one line a policy: the mean over its seeds.
func (s *section) lines() []series {
	all := make([]series, len(s.families))
	for i, f := range s.families {
		all[i] = series{name: plain(f.policy), class: seriesClass(i), points: curveOf(f.runs)}
	}
	return all
}

// charts draws the section's curves.
func (s *section) charts() []drawing {
	lines := s.lines()
	xHi, yHi := 0.0, 0.0
	for _, l := range lines {
		for _, p := range l.points {
			xHi, yHi = max(xHi, p.x), max(yHi, p.hi)
		}
	}
	if xHi <= 0 {
		return nil
	}
	if s.mode == sim.ModeReplay {
		return s.replayCharts(lines, xHi)
	}
	whole := chart{
		title: "the whole run", label: "allocated devices in percent against arrived demand in percent, one line a policy",
		xTitle: "demand that has arrived, % of the fleet's devices", yTitle: "allocated devices, %",
		xHi: xHi, yHi: max(100, yHi), lines: lines, diagonal: true,
	}
	d := whole.draw(chartWidth)
	d.text("mute small end", marginLeft+(chartWidth-marginLeft-marginRight)*0.52, marginTop+66, "nothing refused")
	return []drawing{d, s.zoom(lines, xHi).draw(chartWidth)}
}

// zoom is the last part of the curves, where the policies part: from where the
// lowest of them is near its end.
func (s *section) zoom(lines []series, xHi float64) *chart {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		if n := len(l.points); n > 0 {
			end := l.points[n-1].mean
			lo, hi = min(lo, end), max(hi, end)
		}
	}
	span := max(hi-lo, (xHi-hi)/4, 1)
	step := roundStep(span / 10)
	c := &chart{
		title: "where they differ", label: "the last part of the curves, enlarged",
		xTitle: "demand that has arrived, %", yTitle: "allocated devices, %",
		yLo: math.Floor((lo-span/2)/step) * step, yHi: math.Ceil((hi+span/20)/step) * step,
		xHi: xHi, lines: lines, diagonal: true, names: true,
	}
	c.xLo = min(max(c.yLo, 0), 0.9*xHi)
	return c
}

// replayCharts draws the allocation over time, the waits, by tenant and size too, and the
// tenants' shares.
func (s *section) replayCharts(lines []series, xHi float64) []drawing {
	unit, per := "hours", 1.0
	switch {
	case xHi > 96:
		unit, per = "days", 1.0/24
	case xHi < 3:
		unit, per = "minutes", 60
	}
	xHi *= per
	for i := range lines {
		for k := range lines[i].points {
			lines[i].points[k].x *= per
		}
	}
	lo, hi := within(lines, 0, xHi)
	step := roundStep(max(hi-lo, 1) / 5)
	over := chart{
		title: "allocation over time", label: "allocated share of the fleet in percent over time, one line a policy",
		xTitle: unit + " since the start", yTitle: "allocated, %", xHi: xHi,
		yLo: math.Floor(lo/step) * step, yHi: math.Ceil(hi/step) * step, lines: lines, names: true,
	}
	if over.yLo == over.yHi {
		over.yHi += step
	}
	return slices.Concat(
		[]drawing{over.draw(chartWidth), s.waits()}, s.faredWaits("tenant", s.faredBy(tenantsOf)), s.faredWaits("size", s.faredBy(sizesOf)),
		s.shares(unit, per, xHi),
	)
}

// waits draws the mean wait of each policy.
func (s *section) waits() drawing {
	wait := measure{of: replayed(func(r *sim.ReplayResult) float64 { return r.MeanWait })}
	b := bars{title: "mean wait, seconds", label: "mean wait by policy, in seconds", hi: 1}
	for i, f := range s.families {
		w := f.stat(&wait)
		g := barGroup{name: plain(f.policy), bars: []bar{{class: seriesClass(i), value: w.mean, text: number(w.mean, 1)}}}
		if lo, hi := number(w.lo, 1), number(w.hi, 1); lo != hi {
			g.note = lo + " to " + hi
		}
		if w.mean <= drawable { // not NaN either
			b.hi = max(b.hi, w.mean)
		}
		b.groups = append(b.groups, g)
	}
	return b.draw(chartWidth)
}
