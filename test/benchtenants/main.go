// Command benchtenants measures what tenants with plugins cost each other and the
// daemon, in one run: what a plugin that spins to its budget in every decision,
// with a shadow beside, does to another tenant's latency; whether rounds of
// activation and of push leave anything behind under load; what an idle tenant
// with a plugin takes, and what many of them cost a decision. Rounds of what is
// compared alternate, and their ratios' median counts. It prints one line a
// figure: name, value, unit, goal, verdict. It imports the daemon with what its
// child processes run, the store, the API's types, the configuration and report;
// nothing imports it.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/poise-sched/poise/abi/conformance"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
)

// bench is what all measurements share.
type bench struct {
	root    string // the repository
	dir     string // for the daemons' data
	nodes   int
	rounds  int
	changes int
	pushes  int
	tenants int
}

// What this program is started with as a daemon's child.
const (
	compileChild = "plugin-compile"
	conformChild = "plugin-conform"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileChild:
			os.Exit(policy.RunCompileChild(os.Stdin, os.Stdout, os.Args[2:]))
		case conformChild:
			os.Exit(conformance.RunChild(os.Stdin, os.Stdout, os.Args[2:]))
		}
	}
	var b bench
	flag.StringVar(&b.root, "root", ".", "the repository")
	flag.StringVar(&b.dir, "dir", memory(), "folder for the daemons' data; in memory, unless the disk is to be measured too")
	flag.IntVar(&b.nodes, "nodes", 1000, "nodes of the fleet")
	flag.IntVar(&b.rounds, "rounds", 20, "rounds with and without the other tenant")
	flag.IntVar(&b.changes, "changes", 1000, "rounds of activation and rollback")
	flag.IntVar(&b.pushes, "pushes", 1000, "rounds of push and delete")
	flag.IntVar(&b.tenants, "tenants", 200, "tenants with a plugin each")
	only := flag.String("only", "", "one of latency, changes, pushes, many; all without it")
	flag.Parse()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "benchtenants:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only string) error {
	for _, m := range []struct {
		name    string
		measure func() ([]report.Figure, error)
	}{
		{"latency", b.latency}, {"changes", b.activations}, {"pushes", b.pushesAndDeletes}, {"many", b.many},
	} {
		if only != "" && only != m.name {
			continue
		}
		figures, err := m.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, f := range append(figures, report.Figure{Name: "  load average at the end", Value: loadAverage()}) {
			fmt.Println(f)
		}
	}
	return nil
}

// memory is a folder in memory, where that is to be had.
func memory() string {
	const dir = "/dev/shm"
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return os.TempDir()
}

// loadAverage is that of the last minute; 0 where there is no /proc.
func loadAverage() (load float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Fscan(strings.NewReader(string(text)), &load)
	}
	return load
}
