package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newPluginActivate(s Streams) *cobra.Command {
	var params []string
	var spec client.ActivationSpec
	gate, faults := client.Gate{}, int64(0)
	r, o, cluster := &remote{}, output(""), false
	cmd := &cobra.Command{
		Use:   "activate NAME[@VERSION|:TAG|@sha256:DIGITS] [flags]",
		Short: "Put a plugin in force",
		Long: "Put a plugin in force for a tenant's jobs, or, with --cluster, under the policies of all tenants.\n" +
			"Each decision is made by the policy before or by this one. A tag or a name is resolved to a\n" +
			"digest now; what they name later changes nothing. With --if-agreement, --min-decisions or\n" +
			"--max-faults, it is put in force only if the shadow ran the same and has shown that.",
		Example: "  poise plugin activate spread@1.2.0 --param zone=rack --weight 0.5\n" +
			"  poise plugin activate only-class:stable --param class=cpu-highmem --on-failure last-good",
		Args: named("plugin", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Plugin = args[0]
			var err error
			if spec.Params, err = pairs(params); err != nil {
				return err
			}
			given := cmd.Flags().Changed
			if given("max-faults") {
				gate.MaxFaults = &faults
			}
			if given("if-agreement") || given("min-decisions") || given("max-faults") {
				spec.Gate = &gate
			}
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.PolicyStack, error) {
				return c.Activate(ctx, cluster, spec)
			}, printInForce)
		},
		ValidArgsFunction: r.complete(1, pluginNames),
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	f := cmd.Flags()
	standFlags(cmd, &params, &spec.Weight, &spec.OnFailure)
	f.Float64Var(&gate.Agreement, "if-agreement", 0, "only if the shadow ran this and agreed on this part of the decisions at least, 0 to 1")
	f.Int64Var(&gate.MinDecisions, "min-decisions", 0, "only if the shadow ran this and so many decisions were compared at least")
	f.Int64Var(&faults, "max-faults", 0, "only if the shadow ran this and faulted in so many decisions at most")
	clusterFlag(cmd, &cluster, "under the policies of all tenants; for operators")
	return cmd
}

// printInForce says what is on top now.
func printInForce(w io.Writer, p client.PolicyStack) error {
	whose := "of tenant " + cell(p.Tenant)
	scope := "tenant"
	if p.Tenant == "" {
		whose, scope = "of the cluster", "cluster"
	}
	n := len(p.Layers)
	if n == 0 || p.Layers[n-1].Scope != scope {
		_, err := fmt.Fprintf(w, "no policy %s is in force\n", whose)
		return err
	}
	l := &p.Layers[n-1]
	_, err := fmt.Fprintf(w, "policy %s: %s@%s %s\non failure %s: %s\n", whose, cell(l.Plugin), cell(l.Version), shortDigest(l.Digest), l.OnFailure, cell(l.Rule))
	return err
}

func newPluginRollback(s Streams) *cobra.Command {
	r, o, cluster := &remote{}, output(""), false
	cmd := &cobra.Command{
		Use:   "rollback [flags]",
		Short: "Put the plugin before the present one in force again, or none",
		Long: "Put the plugin before the present one in force again, with its parameters, weight and failure rule.\n" +
			"Where there was none, none is in force. poise plugin explain shows what there is to roll back to.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.PolicyStack, error) {
				return c.Rollback(ctx, cluster)
			}, printInForce)
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	clusterFlag(cmd, &cluster, "the cluster's policy in place of a tenant's; for operators")
	return cmd
}

func newPluginDeactivate(s Streams) *cobra.Command {
	r, cluster := &remote{}, false
	cmd := &cobra.Command{
		Use:   "deactivate [flags]",
		Short: "End the policy in force, and forget those before it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.Deactivate(ctx, cluster); err != nil {
					return err
				}
				_, err := fmt.Fprintln(s.Out, "no policy is in force")
				return err
			})
		},
	}
	r.addFlags(cmd)
	clusterFlag(cmd, &cluster, "the cluster's policy in place of a tenant's; for operators")
	return cmd
}

// standFlags adds what says how a plugin stands on what is under it.
func standFlags(cmd *cobra.Command, params *[]string, weight *float64, onFailure *string) {
	f := cmd.Flags()
	paramFlag(f, params)
	f.Float64Var(weight, "weight", 0, "weight of its loss beside that of what is under it; 0 puts it in its place")
	f.StringVar(onFailure, "on-failure", "", "while it fails: fallback, reject or last-good (default reject if it filters, else fallback)")
	// It fails for a flag that is not there, and this one is.
	_ = cmd.RegisterFlagCompletionFunc("on-failure", cobra.FixedCompletions([]string{"fallback", "reject", "last-good"}, cobra.ShellCompDirectiveNoFileComp))
}
