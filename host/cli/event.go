package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newEvent(s Streams) *cobra.Command {
	r := &remote{}
	return group("event", "Watch what happens", r, newEventWatch(s, r))
}

func newEventWatch(s Streams, r *remote) *cobra.Command {
	var o output
	var after uint64
	cmd := &cobra.Command{
		Use: "watch [flags]", Short: "Print events as they happen, until interrupted", Args: noArgs,
		Long: "Print events as they happen, until interrupted. Where the connection breaks, or the daemon is\n" +
			"started anew, it goes on behind the last event: none is missed and none comes twice. With\n" +
			"-o json there is one object on a line.",
		Example: "  poise event watch --after 0    # all of the history first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if !cmd.Flags().Changed("after") {
					h, err := c.Health(ctx)
					if err != nil {
						return err
					}
					after = h.LastEvent
				}
				return c.Events(ctx, after, func(e client.Event) error { return printEvent(s.Out, o, &e) })
			})
		},
	}
	o.addFlag(cmd)
	cmd.Flags().Uint64Var(&after, "after", 0, "begin behind the event of this index; 0 is the first (default the latest)")
	return cmd
}

func printEvent(w io.Writer, o output, e *client.Event) error {
	switch o {
	case "json":
		line := json.NewEncoder(w)
		line.SetEscapeHTML(false)
		return line.Encode(e)
	case "yaml":
		if _, err := fmt.Fprintln(w, "---"); err != nil {
			return err
		}
		return printYAML(w, e)
	}
	text := fmt.Sprintf("%d  %s  %s", e.Index, moment(e.At), e.Kind)
	if e.Job != "" {
		text += "  job " + cell(e.Job)
	}
	if e.Node != "" {
		text += "  node " + cell(e.Node)
	}
	if e.Policy != "" {
		text += "  " + cell(e.Policy)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
