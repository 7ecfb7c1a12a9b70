package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

// newPluginShadow is the group of commands about the plugin that runs beside the
// policy in force.
func newPluginShadow(s Streams) *cobra.Command {
	group := &cobra.Command{
		Use:   "shadow",
		Short: "Run a plugin beside the policy in force, and compare",
		Long: "Run a plugin beside the policy in force. It is shown every decision about the tenant's jobs, within\n" +
			"a fuel budget of its own, and decides nothing. The report says how often it would have decided\n" +
			"alike, and where and why not. A gang is one decision, alike if every task goes where it went.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newShadowStart(s), newShadowReport(s), newShadowStop(s))
	return group
}

const clusterShadow = "the cluster's in place of a tenant's: it is shown the jobs of tenants without a policy; for operators"

func newShadowStart(s Streams) *cobra.Command {
	var params []string
	var spec client.ShadowSpec
	r, o, cluster := &remote{}, output(""), false
	cmd := &cobra.Command{
		Use:   "start NAME[@VERSION|:TAG|@sha256:DIGITS] [flags]",
		Short: "Run a plugin as the shadow; a tenant has one at most",
		Example: "  poise plugin shadow start spread@1.3.0 --param zone=rack\n" +
			"  poise plugin shadow report",
		Args: named("plugin", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Plugin = args[0]
			var err error
			if spec.Params, err = pairs(params); err != nil {
				return err
			}
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.Shadow, error) {
				return c.StartShadow(ctx, cluster, spec)
			}, func(w io.Writer, v client.Shadow) error {
				_, err := fmt.Fprintf(w, "shadow %s: %s %s\n", shadowOwner(&v), cell(v.Plugin+"@"+v.Version), shortDigest(v.Digest))
				return err
			})
		},
		ValidArgsFunction: r.complete(1, pluginNames),
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	standFlags(cmd, &params, &spec.Weight, &spec.OnFailure)
	clusterFlag(cmd, &cluster, clusterShadow)
	return cmd
}

func shadowOwner(v *client.Shadow) string {
	if v.Tenant == "" {
		return "of the cluster"
	}
	return "of tenant " + cell(v.Tenant)
}

// rerunPoll is how often a rerun is asked for.
const rerunPoll = 200 * time.Millisecond

func newShadowReport(s Streams) *cobra.Command {
	r, o, cluster, fleet, rows := &remote{}, output(""), false, false, 10
	cmd := &cobra.Command{
		Use:   "report [flags]",
		Short: "What the shadow has shown so far",
		Long: "What the shadow has shown so far: agreement, where it would have decided otherwise and why, faults and\n" +
			"fuel. With --fleet, recorded jobs are decided again by the shadow, each when it was placed in fact,\n" +
			"and the fleet as it would be is set beside the fleet as it is.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if rows < 0 {
				return usagef("--rows %d: expected 0 or more", rows)
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if fleet {
					if _, err := c.RerunShadow(ctx, cluster); err != nil {
						return err
					}
				}
				v, err := c.Shadow(ctx, cluster)
				for err == nil && fleet && v.Fleet != nil && v.Fleet.Running {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(rerunPoll):
					}
					v, err = c.Shadow(ctx, cluster)
				}
				if err != nil {
					return err
				}
				return o.print(s.Out, v, func(w io.Writer) error { return printShadow(w, &v, rows) })
			})
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	cmd.Flags().BoolVar(&fleet, "fleet", false, "also decide recorded jobs again, and compare the fleets; waits until that is done")
	cmd.Flags().IntVar(&rows, "rows", rows, "at most so many decisions in each table")
	clusterFlag(cmd, &cluster, clusterShadow)
	return cmd
}

func newShadowStop(s Streams) *cobra.Command {
	r, cluster := &remote{}, false
	cmd := &cobra.Command{
		Use: "stop [flags]", Short: "End the shadow and forget what it has shown", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.StopShadow(ctx, cluster); err != nil {
					return err
				}
				_, err := fmt.Fprintln(s.Out, "no shadow runs")
				return err
			})
		},
	}
	r.addFlags(cmd)
	clusterFlag(cmd, &cluster, clusterShadow)
	return cmd
}
