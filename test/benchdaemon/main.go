// Command benchdaemon measures the daemon as its users meet it, each figure
// against its ceiling in the same run: durable submissions against the store alone
// with the same transactions, latency against one fsync of the same disk, a
// restart against a read of the snapshot, what an idle daemon wakes up for, and
// what a job takes of memory and disk. Daemons run in processes of their own,
// rounds of what is compared alternate, and the fastest of each counts, for a share
// of a ceiling the median of the rounds. It prints one line a figure: name, value,
// unit, goal, verdict. It imports the daemon, the
// store, the API's client, the configuration and report; nothing imports it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/poise-sched/poise/host/report"
)

// bench is what all measurements share.
type bench struct {
	dir     string // on the disk that is measured
	nodes   int
	jobs    int // of a round
	events  int // of the history that a restart has behind it
	rounds  int
	profile string // folder for processor profiles of the daemons, "" = none
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == childArgument {
		if err := child(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "benchdaemon, child:", err)
			os.Exit(1)
		}
		return
	}
	var b bench
	flag.StringVar(&b.dir, "dir", "out", "folder on the disk to measure")
	flag.IntVar(&b.nodes, "nodes", 1000, "nodes of the fleet")
	flag.IntVar(&b.jobs, "jobs", 20_000, "jobs of a round")
	flag.IntVar(&b.events, "events", 1_000_000, "events of the history before a restart")
	flag.IntVar(&b.rounds, "rounds", 5, "how often each measurement is repeated")
	flag.StringVar(&b.profile, "profile", "", "folder for processor profiles of the daemons")
	only := flag.String("only", "", "one of throughput, quiet, restart, waiting; all without it")
	flag.Parse()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "benchdaemon:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only string) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	for _, m := range []struct {
		name    string
		measure func() ([]report.Figure, error)
	}{
		{"throughput", b.throughput}, {"quiet", b.quiet}, {"restart", b.restart}, {"waiting", b.waiting},
	} {
		if only != "" && only != m.name {
			continue
		}
		figures, err := m.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, f := range figures {
			fmt.Println(f)
		}
	}
	return nil
}
