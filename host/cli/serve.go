package cli

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/engine/local"
	"github.com/poise-sched/poise/host/telemetry"
)

// shimCommand is the hidden command that the shim of a task runs.
const shimCommand = "task-shim"

func newServe(s Streams) *cobra.Command {
	var source config.Options
	cmd := &cobra.Command{
		Use:   "serve [--file FILE] [flags]",
		Short: "Run the daemon",
		Long: "Run the daemon: it takes jobs, decides where they go, runs them and remembers all of it.\n" +
			"Without any setting it keeps its data in a directory of its own, takes this machine as its\n" +
			"node and answers on loopback and on a socket in that directory.",
		Example: "  poise serve --data-dir ./data",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			source.Env, source.Flags = os.Environ(), cmd.Flags()
			return serve(s, source)
		},
	}
	cmd.Flags().StringVar(&source.File, "file", "", "the daemon's YAML file; none: defaults, environment and flags alone")
	config.AddFlags(cmd.Flags())
	return cmd
}

func serve(s Streams, source config.Options) error {
	live, err := config.Open(source)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := &live.Current().Config
	level := new(slog.LevelVar)
	level.Set(telemetry.Level(c.Log.Level))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := daemon.Options{
		Config: live, Log: telemetry.Logger(s.Err, c.Log.Format, level), Version: buildVersion(), Level: level,
		Shim: []string{self, shimCommand}, Compile: []string{self, compileCommand}, Conform: []string{self, conformCommand},
	}
	scheme, fingerprint := "http", ""
	o.Secured = func(c *x509.Certificate) { scheme, fingerprint = "https", client.Fingerprint(c) }
	return daemon.Serve(ctx, o, func(address, socket string) {
		fmt.Fprintf(s.Out, "poise serves on %s://%s and on %s\n", scheme, address, socket)
		if fingerprint != "" {
			fmt.Fprintf(s.Out, "fingerprint of its key: %s\n", fingerprint)
		}
	})
}

// newShim is the hidden command of a task's shim.
func newShim() *cobra.Command {
	return &cobra.Command{
		Use: shimCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := local.RunShim(args); code != 0 {
				return childFailed(code)
			}
			return nil
		},
	}
}

func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
