package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func newJobLogs(s Streams, r *remote) *cobra.Command {
	var o client.LogOptions
	var since string
	cmd := &cobra.Command{
		Use: "logs JOB [flags]", Short: "Print what a job's task writes", Args: named("job", 1),
		Example:           "  poise job logs --follow --tail 20 train",
		ValidArgsFunction: r.complete(1, jobNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Stream != "" && o.Stream != "stdout" && o.Stream != "stderr" {
				return usagef("--stream %q: expected stdout or stderr", o.Stream)
			}
			if o.Tail < 0 {
				return usagef("--tail %d: expected 0, which is all, or more", o.Tail)
			}
			var err error
			if o.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				log, err := c.Logs(ctx, args[0], o)
				if err != nil {
					return err
				}
				defer log.Close()
				if _, err := io.Copy(s.Out, log); err != nil {
					return &poise.Error{Kind: poise.Unavailable, Op: "read the log", Detail: "it broke off", Err: err}
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on until the task has ended")
	f.StringVar(&o.Stream, "stream", "", "stdout or stderr alone")
	f.StringVar(&since, "since", "", "only lines of the last so long, such as 10m, or from a time on, such as 2026-01-02T15:04:05Z")
	f.IntVar(&o.Tail, "tail", 0, "only so many of the last lines that are there now; 0 is all")
	return cmd
}

// sinceTime reads a time, or how long ago it was.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--since %q: expected a duration such as 10m or a time such as 2026-01-02T15:04:05Z", text)
	}
	return at, nil
}
