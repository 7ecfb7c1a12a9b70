package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func newPlan(s Streams) *cobra.Command {
	var o output
	var j jobFlags
	var file string
	r := &remote{}
	cmd := &cobra.Command{
		Use:   "plan FILE | [flags]",
		Short: "Say where jobs would go now, or why nowhere, and submit nothing",
		Long: "Say where jobs would go now, or why nowhere, and submit nothing. Each job of the file, and\n" +
			"each gang as a whole, is planned by itself, on the fleet as it is. With --snapshot no daemon is needed: the jobs are\n" +
			"planned on the state in the file, in the order of the queue, and each takes its place before\n" +
			"the next.",
		Example: "  poise plan examples/jobs/two-tenants.yaml\n  poise plan --cpu 4 --gpu 2\n  poise plan --snapshot then.snapshot examples/jobs/two-tenants.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if j.name == "" && len(args) == 0 {
				j.name = "plan" // what is not submitted needs no command to be named after
			}
			specs, err := j.specs(cmd, args)
			if err != nil {
				return err
			}
			if file != "" {
				return planOnSnapshot(s, o, file, poise.TenantID(cmp.Or(r.tenant, client.DefaultTenant)), specs)
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				list, err := planAll(ctx, c, specs)
				if err != nil {
					return err
				}
				return o.print(s.Out, list, func(w io.Writer) error {
					for i := range list {
						if i > 0 {
							fmt.Fprintln(w)
						}
						if err := printWhy(w, &list[i]); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	j.addFlags(cmd)
	cmd.Flags().StringVar(&file, "snapshot", "", "plan on this snapshot file, without a daemon")
	return cmd
}
