package main

import (
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/sched"
)

// sizes are the fleets whose placements are timed.
var sizes = [...]int{1_000, 10_000, 100_000}

// placement times one placement (submit, plan, commit) on fleets of 1,000 to
// 100,000 nodes with 16 job shapes: while the fleet fills, and while another
// task ends after each, which doubles the rows that the next placements have to
// catch up with. The event of the end is a figure by itself.
func placement(rounds int) ([]report.Figure, error) {
	var figures []report.Figure
	for _, name := range []string{"idle-balance-spread", "idle-balance"} {
		var each, steady, ends [len(sizes)]time.Duration
		var scans float64
		for i, n := range sizes {
			p, err := policy(name, nil)
			if err != nil {
				return nil, err
			}
			f, err := newFleet(n, p, name == "idle-balance")
			if err != nil {
				return nil, err
			}
			if each[i], err = f.timeFilling(rounds); err != nil {
				return nil, err
			}
			if steady[i], ends[i], err = f.timeSteady(rounds); err != nil {
				return nil, err
			}
			if name == "idle-balance-spread" && n == 10_000 {
				if scans, err = f.timeScans(rounds); err != nil {
					return nil, err
				}
			}
		}
		goal := report.AtMost(5)
		if name == "idle-balance" {
			goal = report.AtMost(15)
		}
		micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
		figures = append(figures,
			report.Figure{Name: name + ": placement, 1,000 nodes", Value: micro(each[0]), Unit: "us"},
			report.Figure{Name: name + ": placement, 10,000 nodes", Value: micro(each[1]), Unit: "us", Goal: goal},
			report.Figure{Name: name + ": placement, 100,000 nodes", Value: micro(each[2]), Unit: "us"},
			report.Figure{Name: name + ": 100,000 against 10,000 nodes", Value: micro(each[2]) / micro(each[1]), Unit: "x time", Goal: report.AtMost(3)},
			report.Figure{Name: name + ": placement, a task ends after each, 10,000 nodes", Value: micro(steady[1]), Unit: "us"},
			report.Figure{Name: name + ": end of a task, 10,000 nodes", Value: micro(ends[1]), Unit: "us"},
		)
		if scans > 0 {
			figures = append(figures, report.Figure{
				Name: name + ": scoring every row against the cache, 10,000 nodes", Value: scans / micro(each[1]), Unit: "x time", Goal: report.AtLeast(30),
			})
		}
	}
	return figures, nil
}

// timeFilling gives the time of one placement while the fleet fills from about
// a third to two thirds, the fastest of some rounds. A round is as long as an
// epoch of the demand profile, so that the cost of scoring all nodes anew is
// shared as it is in use.
func (f *fleet) timeFilling(rounds int) (best time.Duration, err error) {
	n := 2 * f.state.View().Nodes()
	for range rounds {
		for range n {
			if err := f.finish(); err != nil {
				return 0, err
			}
		}
		placed := 0
		began := time.Now()
		for range n {
			ok, err := f.place()
			if err != nil {
				return 0, err
			}
			if ok {
				placed++
			}
		}
		spent := time.Since(began)
		if err := enough(placed, n); err != nil {
			return 0, err
		}
		if each := spent / time.Duration(placed); best == 0 || each < best {
			best = each
		}
		for placed < n { // what did not fit is made up for, so that rounds are alike
			ok, err := f.place()
			if err != nil {
				return 0, err
			}
			if ok {
				placed++
			}
		}
	}
	return best, nil
}

// enough refuses a measurement in which many jobs found no place.
func enough(placed, n int) error {
	if placed < n*9/10 {
		return fmt.Errorf("BUG: only %d of %d jobs were placed, the fleet is too full to measure placements", placed, n)
	}
	return nil
}

// timeSteady gives the time of one placement and of the end of one task, taking
// turns, each the fastest of some rounds as long as those of timeFilling.
func (f *fleet) timeSteady(rounds int) (place, end time.Duration, err error) {
	n := 2 * f.state.View().Nodes()
	for range rounds {
		placed := 0
		var placing, ending time.Duration
		for range n {
			began := time.Now()
			ok, err := f.place()
			if err != nil {
				return 0, 0, err
			}
			between := time.Now()
			placing += between.Sub(began)
			if ok {
				placed++
			}
			if err := f.finish(); err != nil {
				return 0, 0, err
			}
			ending += time.Since(between)
		}
		if err := enough(placed, n); err != nil {
			return 0, 0, err
		}
		if each := placing / time.Duration(placed); place == 0 || each < place {
			place = each
		}
		if each := ending / time.Duration(n); end == 0 || each < end {
			end = each
		}
	}
	return place, end, nil
}

// timeScans gives the time in microseconds of one placement that scores every
// row, and checks that it decides as the cache does.
func (f *fleet) timeScans(rounds int) (float64, error) {
	spread, err := balance.NewSpread(nil)
	if err != nil {
		return 0, err
	}
	var best time.Duration
	var w scanned
	const n = 50
	for range rounds {
		var spent time.Duration
		for range n {
			began := time.Now()
			j, err := f.submit()
			if err != nil {
				return 0, err
			}
			if err := f.scan(j, spread, &w); err != nil {
				return 0, err
			}
			spent += time.Since(began)
			d, err := f.pipeline.Plan(f.state.View(), j, sched.Pass{})
			if err != nil {
				return 0, err
			}
			began = time.Now()
			node := f.state.View().Name(w.best)
			if d.Node != node {
				return 0, fmt.Errorf("BUG: the cache chose %s, scoring every row %s", d.Node, node)
			}
			if err := f.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: node}}); err != nil {
				return 0, err
			}
			f.live = append(f.live, j.ID)
			if err := f.finish(); err != nil {
				return 0, err
			}
			spent += time.Since(began)
		}
		if best == 0 || spent < best {
			best = spent
		}
	}
	return float64(best.Nanoseconds()) / 1000 / n, nil
}
