// Command benchmodel measures the figures that Poise promises of its model of
// node classes and prints one line a figure: name, value, unit, goal, verdict.
// The peer is scikit-learn, run in turns with the model in one python3 process;
// the fastest round of each counts. It imports the core, the fleets, the file
// readers and the report package, and nothing else uses it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/poise-sched/poise/host/report"
)

func main() {
	traces := flag.String("openb", "../shared/traces/openb", "folder of the openb trace; its figures are left out where it is absent")
	rounds := flag.Int("rounds", 3, "how often each measurement is repeated")
	full := flag.Bool("full", false, "measure scikit-learn at 100,000 nodes too, one call of about a minute")
	flag.Parse()
	if err := run(*traces, max(*rounds, 1), *full); err != nil {
		fmt.Fprintln(os.Stderr, "benchmodel:", err)
		os.Exit(1)
	}
}

func run(traces string, rounds int, full bool) error {
	for _, measure := range []func() ([]report.Figure, error){
		func() ([]report.Figure, error) { return build(rounds, full) },
		func() ([]report.Figure, error) { return scale(rounds) },
		func() ([]report.Figure, error) { return candidates(traces) },
	} {
		figures, err := measure()
		if err != nil {
			return err
		}
		for _, f := range figures {
			fmt.Println(f)
		}
	}
	return nil
}
