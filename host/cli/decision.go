package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newDecision(s Streams) *cobra.Command {
	r := &remote{}
	return group("decision", "Look at what was decided", r, newDecisionList(s, r))
}

func newDecisionList(s Streams, r *remote) *cobra.Command {
	var o output
	var f client.DecisionFilter
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List decisions, newest first", Args: noArgs,
		Long: "List decisions, newest first. poise job why explains the latest one on a job in full, and\n" +
			"-o json has all of each.",
		Example: "  poise decision list --job train",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) ([]client.DecisionRecord, error) {
				return all(f.Limit, func(limit int, after string) ([]client.DecisionRecord, string, error) {
					f := f
					f.Limit, f.After = limit, after
					page, err := c.Decisions(ctx, f)
					return page.Decisions, page.Next, err
				})
			}, decisionTable)
		},
	}
	o.addFlag(cmd)
	limitFlag(cmd, &f.Limit)
	cmd.Flags().StringVar(&f.Job, "job", "", "only those on this job, by name or id")
	cmd.Flags().StringVar(&f.Node, "node", "", "only those that chose this node")
	cmd.Flags().StringVar(&f.Verdict, "verdict", "", "only placed, fits-not-now, never-fits, over-quota or behind-others")
	return cmd
}

func decisionTable(w io.Writer, list []client.DecisionRecord) error {
	t := rows{{"INDEX", "AT", "JOB", "ATTEMPT", "VERDICT", "NODE", "DEVICES", "FITTING", "POLICY", "FAULT"}}
	for i := range list {
		r, d := &list[i], &list[i].Decision
		t.add(fmt.Sprint(r.Index), moment(r.At), r.Name, countText(r.Attempt), d.Verdict, d.Node, indexes(d.Devices),
			fmt.Sprintf("%d/%d", d.Fitting, d.Nodes), d.Policy, d.Fault)
	}
	return t.write(w, "decisions")
}
