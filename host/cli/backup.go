package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/daemon"
)

func newBackup(s Streams) *cobra.Command {
	var source config.Options
	cmd := &cobra.Command{
		Use:     "backup FILE [flags]",
		Short:   "Copy the store of a data directory whose daemon does not run",
		Example: "  poise backup --data-dir ./data poise-backup.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDataDir(cmd, &source, func(dir string) error {
				if err := daemon.Backup(context.Background(), dir, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Out, "%s: backup of %s, %s\n", args[0], dir, time.Now().UTC().Format(time.RFC3339))
				return err
			})
		},
	}
	return dataDirFlags(cmd, &source)
}

func newRestore(s Streams) *cobra.Command {
	var source config.Options
	cmd := &cobra.Command{
		Use:     "restore FILE [flags]",
		Short:   "Make a data directory from a backup; it must not have a store yet",
		Example: "  poise restore --data-dir ./other poise-backup.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDataDir(cmd, &source, func(dir string) error {
				if err := daemon.Restore(context.Background(), args[0], dir); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Out, "%s: restored from %s\n", filepath.Clean(dir), args[0])
				return err
			})
		},
	}
	return dataDirFlags(cmd, &source)
}

func dataDirFlags(cmd *cobra.Command, source *config.Options) *cobra.Command {
	cmd.Flags().StringVar(&source.File, "file", "", "the daemon's YAML file")
	config.AddFlags(cmd.Flags())
	return cmd
}

// withDataDir hands f the data directory that a daemon with these flags would
// use.
func withDataDir(cmd *cobra.Command, source *config.Options, f func(dir string) error) error {
	source.Env, source.Flags = os.Environ(), cmd.Flags()
	loaded, err := config.Load(*source)
	if err != nil {
		return err
	}
	return f(loaded.Config.DataDir)
}
