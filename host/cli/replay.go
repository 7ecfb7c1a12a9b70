package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/daemon"
)

func newReplay(s Streams) *cobra.Command {
	var source config.Options
	var o daemon.ReplayOptions
	cmd := &cobra.Command{
		Use:   "replay --from INDEX [--to INDEX] [flags]",
		Short: "Make recorded decisions again, from the records alone",
		Long: "Make recorded decisions again, from the latest snapshot before them and the events behind it, and\n" +
			"compare to the bit. What plugins answered is taken from the records: native filters, order, ties\n" +
			"and the choice are made again; with --rerun-guests the plugins run too. The snapshots on the way\n" +
			"are compared as well. The first difference is named, by the input where one differs, and gives\n" +
			"exit code 1. The daemon of the data directory must not run; a backup will do.",
		Example: "  poise replay --data-dir ./data --from 1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.From == 0 {
				return usagef("--from: not given, expected the index of an event, from 1")
			}
			source.Env, source.Flags = os.Environ(), cmd.Flags()
			return replay(s, source, o)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&o.From, "from", 0, "index of the first event whose decision is made again")
	f.Uint64Var(&o.To, "to", 0, "index of the last one; 0 = the last there is")
	f.BoolVar(&o.RerunGuests, "rerun-guests", false, "run plugins too, in place of taking their answers from the records")
	f.StringVar(&source.File, "file", "", "the daemon's YAML file")
	config.AddFlags(f)
	return cmd
}

func replay(s Streams, source config.Options, o daemon.ReplayOptions) error {
	loaded, err := config.Load(source)
	if err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil {
		o.Compile = []string{self, compileCommand}
	}
	r, err := daemon.Replay(context.Background(), &loaded.Config, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%d decisions made again, equal to the bit", r.Decisions)
	if r.Recorded > 0 {
		fmt.Fprintf(s.Out, "; in %d of them plugins' answers were taken from the records", r.Recorded)
	}
	if r.Snapshots > 0 {
		fmt.Fprintf(s.Out, "; %d stored snapshots met", r.Snapshots)
	}
	fmt.Fprintln(s.Out)
	switch {
	case r.Index == 0:
	case r.Job == "":
		return fmt.Errorf("event %d: %s was %s and is %s", r.Index, r.Field, r.Was, r.Is)
	default:
		return fmt.Errorf("event %d, job %s: %s was %s and is %s", r.Index, r.Job, r.Field, r.Was, r.Is)
	}
	return nil
}
