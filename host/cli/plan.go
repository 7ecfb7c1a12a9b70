package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newPlan(s Streams) *cobra.Command {
	var o output
	var j jobFlags
	r := &remote{}
	cmd := &cobra.Command{
		Use:   "plan FILE | [flags]",
		Short: "Say where jobs would go now, or why nowhere, and submit nothing",
		Long: "Say where jobs would go now, or why nowhere, and submit nothing. Each job of the file is\n" +
			"planned by itself, on the fleet as it is.",
		Example: "  poise plan examples/jobs/hello.yaml\n  poise plan --cpu 4 --gpu 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			specs, err := j.specs(cmd, args)
			if err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				list := make([]client.Why, len(specs))
				for i := range specs {
					if specs[i].Name == "" {
						specs[i].Name = "plan"
					}
					if list[i], err = c.Plan(ctx, specs[i]); err != nil {
						return err
					}
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
	return cmd
}
