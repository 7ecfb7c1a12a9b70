// Command benchpolicy measures what the sandbox of policy plugins costs, each
// figure against its native twin or its limit in the same run: full passes,
// metering, incremental placements, loading, activation rounds, pauses, and a
// peer's call per node. It prints one line a figure: name, value, unit, goal,
// verdict. Rounds of what is compared alternate and the fastest of each counts, of
// placements the median ratio; what is longer than a call is taken in processor time
// of its thread, since other programs want the machine too.
// It imports the core, policy with its rewriter, the engine below them and report;
// nothing imports it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
)

// bench is what all measurements share.
type bench struct {
	kernels string // folder of the benchmark's guests
	plugins string // folder of the first-party plugins
	peer    string // checkout of the peer, "" = none
	rounds  int
	goGuest []byte // the kernel in stock Go; nil where it did not build
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == compileArgument {
		os.Exit(policy.RunCompileChild(os.Stdin, os.Stdout, os.Args[2:]))
	}
	var b bench
	root := flag.String("root", ".", "the repository")
	flag.StringVar(&b.peer, "peer", "", "checkout of kube-scheduler-wasm-extension; its figures are left out without one")
	flag.IntVar(&b.rounds, "rounds", 15, "how often each measurement is repeated")
	flag.Parse()
	b.kernels = filepath.Join(*root, "host", "policy", "testdata", "kernels")
	b.plugins = filepath.Join(*root, "plugins")
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchpolicy:", err)
		os.Exit(1)
	}
}

// compileArgument makes this program its own compile child.
const compileArgument = "compile-child"

func (b *bench) run() error {
	var err error
	if b.goGuest, err = buildGoGuest(b.kernels); err != nil {
		fmt.Fprintln(os.Stderr, "benchpolicy: the kernel in Go is left out:", err)
	}
	for _, measure := range []func() ([]report.Figure, error){
		b.fullPass, b.metering, b.incremental, b.loading, b.activations, b.pauses, b.againstPeer,
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

// engine makes an engine that compiles in this process and keeps nothing.
func engine() (*policy.Engine, error) {
	return policy.NewEngine(context.Background(), policy.Options{Limits: policy.Defaults()})
}
