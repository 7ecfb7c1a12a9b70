package cli

import (
	"cmp"
	"context"
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
		Short: "Say when and where jobs would start, or why not, and submit nothing",
		Long: "Say when jobs would start and where, or why not, and submit nothing. The jobs of the file are\n" +
			"planned together, beside those that wait: as if nothing else came, and every task ended when it\n" +
			"says. One job is explained in full. With --snapshot no daemon is needed: the jobs are planned on the\n" +
			"state in the file.",
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
			for i := range specs {
				specs[i].Name = cmp.Or(specs[i].Name, "plan")
			}
			if file != "" {
				return planOnSnapshot(s, o, file, poise.TenantID(cmp.Or(r.tenant, client.DefaultTenant)), specs)
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				made, err := c.PlanAll(ctx, specs)
				if err != nil {
					return err
				}
				return o.print(s.Out, made, func(w io.Writer) error { return printPlan(w, &made, specs) })
			})
		},
	}
	r.addFlags(cmd)
	o.addFlag(cmd)
	j.addFlags(cmd)
	cmd.Flags().StringVar(&file, "snapshot", "", "plan on this snapshot file, without a daemon")
	return cmd
}
