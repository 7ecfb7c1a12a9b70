package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/advice"
	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/snapshot"
)

func newFleet(s Streams) *cobra.Command {
	r := &remote{}
	return group("fleet", "Which nodes the fleet lacks, and which nobody needs", r, newFleetAdvice(s, r))
}

func newFleetAdvice(s Streams, r *remote) *cobra.Command {
	var o output
	var file string
	cmd := &cobra.Command{
		Use: "advice [flags]", Short: "Say which nodes would help the jobs that wait, and which nobody needs", Args: noArgs,
		Long: "Say, for each class of nodes, how many more would let which part of the waiting jobs start, what to add\n" +
			"so that all start that any class can help, which jobs none does and why, and which empty nodes no\n" +
			"waiting job would go to. The numbers come from first fit, the largest job first, on empty nodes that are\n" +
			"typical of their class; AT LEAST is what fewer than cannot do. Operators only.",
		Example: "  poise fleet advice\n  poise fleet advice --snapshot now.poise -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				return adviseFile(s, o, file)
			}
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.Advice, error) { return c.Advice(ctx) }, printAdvice)
		},
	}
	o.addFlag(cmd)
	cmd.Flags().StringVar(&file, "snapshot", "", "advise on the state in this snapshot file, without a daemon")
	return cmd
}

func adviseFile(s Streams, o output, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	file, err := snapshot.Read(name)
	if err != nil {
		return err
	}
	made, err := advice.Gather(file.State).Advise()
	if err != nil {
		return err
	}
	a := api.NewAdvice(made)
	return o.print(s.Out, a, func(w io.Writer) error { return printAdvice(w, a) })
}

func printAdvice(w io.Writer, a client.Advice) error {
	fmt.Fprintf(w, "jobs that wait: %d; with room now: %d, blocked: %d, over quota: %d, lacking room: %d\n", a.Waiting, a.Fits, a.Blocked, a.Over, a.Lacking)
	if a.Lacking > 0 {
		t := rows{{"CLASS", "NODES", "A TYPICAL ONE", "MORE", "AT LEAST", "STARTS", "LEFT"}}
		for i := range a.Classes {
			c := &a.Classes[i]
			t.add(c.Class, fmt.Sprint(c.Nodes), amountsText(c.Capacity, c.Model), fmt.Sprint(c.More), fmt.Sprint(c.AtLeast), fmt.Sprint(c.Starts), fmt.Sprint(c.Left))
		}
		fmt.Fprintln(w)
		if err := t.write(w, "classes"); err != nil {
			return err
		}
	}
	if len(a.Together) > 0 {
		fmt.Fprintln(w, "\nto start all that any class can help, add")
		for _, s := range a.Together {
			fmt.Fprintf(w, "  %d of %s: %d jobs start\n", s.Nodes, cell(s.Class), s.Starts)
		}
	}
	if len(a.Helpless) > 0 {
		fmt.Fprintln(w, "\nno class helps")
		for i := range a.Helpless {
			h := &a.Helpless[i]
			fmt.Fprintf(w, "  %s of %s, %d like it (%s): %s\n", cell(h.Name), cell(h.Tenant), h.Jobs, amountsText(h.Request, ""), nearestText(h.Nearest))
		}
	}
	if len(a.Unneeded) > 0 {
		fmt.Fprintln(w, "\nnobody needs")
		for _, u := range a.Unneeded {
			fmt.Fprintf(w, "  %d of %s: %s\n", len(u.Nodes), cell(u.Class), cell(strings.Join(u.Nodes, " ")))
		}
	}
	return nil
}

// amountsText prints amounts by name, cpu and memory first.
func amountsText(amounts map[string]client.Quantity, model string) string {
	var parts []string
	names := slices.Sorted(maps.Keys(amounts))
	for _, name := range names {
		parts = append(parts, string(amounts[name])+" "+name)
	}
	if model != "" {
		parts = append(parts, "of model "+model)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return cell(strings.Join(parts, ", "))
}

func nearestText(m *client.Miss) string {
	if m == nil {
		return "only a node that is not typical of its class would do"
	}
	text := "nearest: node " + m.Node + ": " + m.Code.Text()
	if m.Ask > m.Have {
		text += fmt.Sprintf(", %s of %s", resource.Format(m.Dim, m.Have), resource.Format(m.Dim, m.Ask))
	}
	if m.Dim != "" {
		text += " " + m.Dim
	}
	if m.Text != "" {
		text += " (" + m.Text + ")"
	}
	return cell(text)
}
