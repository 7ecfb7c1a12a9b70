// Command bench measures the figures that Poise promises of its core, each
// against a peer in the same run, and prints one line a figure: name, value,
// unit, goal, verdict. Rounds of what is compared alternate and the fastest of
// each counts, so that other load on the machine disturbs the ratios least. It
// imports the core, the file readers and the report package, and nothing else
// uses it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/poise-sched/poise/host/report"
)

func main() {
	traces := flag.String("openb", "../shared/traces/openb", "folder of the openb trace; its figures are left out where it is absent")
	rounds := flag.Int("rounds", 5, "how often each measurement is repeated")
	flag.Parse()
	if err := run(*traces, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(traces string, rounds int) error {
	for _, measure := range []func() ([]report.Figure, error){
		func() ([]report.Figure, error) { return openb(traces, rounds) },
		func() ([]report.Figure, error) { return placement(rounds) },
		func() ([]report.Figure, error) { return gangs(rounds) },
		memory,
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
