// Command poise is the scheduler, its tools and its simulator in one binary.
// It only hands its arguments and streams to package cli. The exit code says
// what became of it: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5
// unavailable.
package main

import (
	"os"

	"github.com/poise-sched/poise/host/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
