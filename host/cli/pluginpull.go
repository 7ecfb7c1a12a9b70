package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func newPluginPull(s Streams) *cobra.Command {
	r, to := &remote{}, ""
	cmd := &cobra.Command{
		Use:   "pull NAME[@VERSION|:TAG|@sha256:DIGITS] [flags]",
		Short: "Pull a version of a plugin from the daemon into a file",
		Long: "Pull a version of a plugin from the daemon into a file, with its signature beside it where there\n" +
			"is one. The bytes are compared with the digest before the file is written.",
		Example: "  poise plugin pull spread:stable --to spread.wasm",
		Args:    named("plugin", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				m, err := c.PullPlugin(ctx, args[0])
				if err != nil {
					return err
				}
				sum := sha256.Sum256(m.Module)
				if got := "sha256:" + hex.EncodeToString(sum[:]); got != m.Version.Digest {
					return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("pull plugin %q", args[0]), Detail: fmt.Sprintf("module: digest %s, expected %s", got, m.Version.Digest)}
				}
				name := to
				if name == "" {
					name = m.Version.Plugin + "-" + m.Version.Version + ".wasm" // of letters, digits and . + _ -
				}
				if err := os.WriteFile(name, m.Module, 0o644); err != nil {
					return err
				}
				if m.Signature != "" {
					if err := os.WriteFile(name+".minisig", []byte(m.Signature), 0o644); err != nil {
						return err
					}
				}
				_, err = fmt.Fprintf(s.Out, "%s@%s %s in %s\n", cell(m.Version.Plugin), cell(m.Version.Version), m.Version.Digest, name)
				return err
			})
		},
		ValidArgsFunction: r.complete(1, pluginNames),
	}
	r.addFlags(cmd)
	cmd.Flags().StringVar(&to, "to", "", "the file to write (default NAME-VERSION.wasm)")
	return cmd
}

func pluginNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Plugins(ctx, "")
	var names []string
	for i := range list {
		names = append(names, list[i].Plugin+"@"+list[i].Version)
	}
	return names, err
}
