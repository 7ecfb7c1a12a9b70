package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newPluginDelete(s Streams) *cobra.Command {
	r, cluster := &remote{}, false
	cmd := &cobra.Command{
		Use:   "delete NAME@VERSION|NAME:TAG|NAME@sha256:DIGITS [flags]",
		Short: "Delete a version of a plugin that is not in force and not to be rolled back to",
		Args:  named("plugin", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.DeletePlugin(ctx, cluster, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Out, "plugin %s deleted\n", args[0])
				return err
			})
		},
		ValidArgsFunction: r.complete(1, pluginNames),
	}
	r.addFlags(cmd)
	clusterFlag(cmd, &cluster, "one that is for all tenants; for operators")
	return cmd
}

func newPluginGC(s Streams) *cobra.Command {
	r, o := &remote{}, output("")
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Remove the modules that nothing needs any more",
		Long: "Remove the modules that no version, no policy, no snapshot and no decision that can be made again\n" +
			"needs any more. For operators.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.PluginsCollected, error) {
				return c.CollectPlugins(ctx)
			}, func(w io.Writer, gone client.PluginsCollected) error {
				_, err := fmt.Fprintf(w, "%d modules removed, %s\n", gone.Modules, bytesText(gone.Bytes))
				return err
			})
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	return cmd
}
