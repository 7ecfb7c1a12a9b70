//go:build linux

// Executor runs the tasks of one node of a Poise daemon: an example of what an
// external executor does, for who brings an engine of their own. It uses nothing
// but host/api/client. What it knows of a task is on disk before the task starts,
// and a task does not end with it, so it may be killed and started again at any
// moment: no task runs twice, and no end is lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/poise-sched/poise/host/api/client"
)

func main() {
	address := flag.String("address", os.Getenv("POISE_ADDRESS"), "the daemon's host:port, URL or socket")
	name := flag.String("node", "", "name of the node that it runs the tasks of")
	dir := flag.String("dir", "", "folder of its own, for what it knows of the tasks and their output")
	cpu := flag.String("cpu", "1", "cores that the node offers")
	memory := flag.String("memory", "1Gi", "memory that the node offers")
	flag.Parse()
	if *address == "" || *name == "" || *dir == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: executor --address ADDRESS --node NAME --dir DIR [--cpu 1] [--memory 1Gi]")
		os.Exit(2)
	}
	spec := client.NodeSpec{Name: *name, Capacity: map[string]client.Quantity{"cpu": client.Quantity(*cpu), "memory": client.Quantity(*memory)}}
	if err := run(*address, *dir, spec); err != nil {
		fmt.Fprintln(os.Stderr, "executor:", err)
		os.Exit(1)
	}
}

func run(address, dir string, spec client.NodeSpec) error {
	c, err := client.New(address)
	if err != nil {
		return err
	}
	defer c.Close()
	shelf, err := openShelf(dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := &executor{daemon: c, node: spec, shelf: shelf, log: slog.Default()}
	if err := e.run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
