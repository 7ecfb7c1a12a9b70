// Command benchqueue measures what a long queue costs the deciding loop: the time
// of a pass in which one task ends, with 1,000 to a million waiting jobs of 64
// shapes and 100 tenants, without and with a node kept for one that needs all of it,
// and the memory of a million of them. Time is that of the
// processor, so that other load on the machine disturbs it least. It prints one line
// a figure: name, value, unit, goal, verdict. It imports the core and the report
// package, and nothing else uses it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/poise-sched/poise/host/report"
)

func main() {
	passes := flag.Int("passes", 300, "passes measured at each length of the queue")
	flag.Parse()
	if err := run(*passes); err != nil {
		fmt.Fprintln(os.Stderr, "benchqueue:", err)
		os.Exit(1)
	}
}

// lengths of the queue, in jobs. The longest goes first, so that the memory of the
// process is that of nothing else.
var lengths = []int{1_000_000, 100_000, 10_000, 1000}

func run(passes int) error {
	runtime.LockOSThread() // the processor time is that of the thread
	for _, reservations := range []int{0, 1} {
		fleets := make([]*fleet, len(lengths))
		for i, n := range lengths {
			before := heap()
			f, err := newFleet(n, reservations)
			if err != nil {
				return err
			}
			if fleets[i] = f; i == 0 && reservations == 0 {
				fmt.Println(report.Figure{Name: "queue: heap of a million waiting jobs", Value: heap() - before, Unit: "MB", Goal: report.AtMost(800)})
				fmt.Println(report.Figure{Name: "queue: resident memory of the process then", Value: resident(), Unit: "MB", Goal: report.AtMost(800)})
			}
		}
		cost, err := costs(fleets, passes)
		if err != nil {
			return err
		}
		kept := ""
		if reservations > 0 {
			kept = ", with a node kept for the first"
		}
		for i, n := range lengths {
			fmt.Println(report.Figure{Name: fmt.Sprintf("queue: a pass with %d waiting jobs%s", n, kept), Value: cost[i], Unit: "us"})
			if err := fleets[i].check(n, reservations); err != nil {
				return err
			}
		}
		fmt.Println(report.Figure{Name: "queue: a pass with a million over one with 10,000" + kept, Value: cost[0] / cost[2], Unit: "x", Goal: report.AtMost(2)})
	}
	return nil
}

// costs gives the median time of a pass of each fleet in microseconds. The fleets
// have their passes in turns, so that whatever else goes on meets them alike.
func costs(fleets []*fleet, passes int) ([]float64, error) {
	runtime.GC() // what was made to make them is nobody's cost
	times := make([][]float64, len(fleets))
	for range passes {
		for i, f := range fleets {
			began := spent()
			if err := f.pass(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], spent()-began)
		}
	}
	medians := make([]float64, len(fleets))
	for i := range times {
		slices.Sort(times[i])
		medians[i] = times[i][passes/2]
	}
	return medians, nil
}
