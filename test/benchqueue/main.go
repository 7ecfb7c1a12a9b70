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
	"slices"
	"syscall"

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
	cost, kept := map[int]float64{}, map[int]float64{} // without and with a reservation
	for _, n := range lengths {
		before := heap()
		f, err := newFleet(n, 0)
		if err != nil {
			return err
		}
		if n == lengths[0] {
			fmt.Println(report.Figure{Name: "queue: heap of a million waiting jobs", Value: heap() - before, Unit: "MB", Goal: report.AtMost(800)})
			fmt.Println(report.Figure{Name: "queue: resident memory of the process then", Value: resident(), Unit: "MB", Goal: report.AtMost(800)})
		}
		if cost[n], err = f.cost(passes); err != nil {
			return err
		}
		fmt.Println(report.Figure{Name: fmt.Sprintf("queue: a pass with %d waiting jobs", n), Value: cost[n], Unit: "us"})
		if err := f.check(n, 0); err != nil {
			return err
		}
		if f, err = newFleet(n, 1); err != nil {
			return err
		}
		if kept[n], err = f.cost(passes); err != nil {
			return err
		}
		fmt.Println(report.Figure{Name: fmt.Sprintf("queue: the same with a node kept for the first of %d", n), Value: kept[n], Unit: "us"})
		if err := f.check(n, 1); err != nil {
			return err
		}
	}
	fmt.Println(report.Figure{Name: "queue: a pass with a million over one with 10,000", Value: cost[1_000_000] / cost[10_000], Unit: "x", Goal: report.AtMost(2)})
	fmt.Println(report.Figure{Name: "queue: the same with a reservation", Value: kept[1_000_000] / kept[10_000], Unit: "x", Goal: report.AtMost(2)})
	return nil
}

// cost is the median time of a pass in microseconds.
func (f *fleet) cost(passes int) (float64, error) {
	times := make([]float64, passes)
	for i := range times {
		began := spent()
		if err := f.pass(); err != nil {
			return 0, err
		}
		times[i] = spent() - began
	}
	slices.Sort(times)
	return times[passes/2], nil
}

// spent is the time of the processor that this process has used, in microseconds.
func spent() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("BUG: the time of one's own process: %v", err))
	}
	return float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec)
}
