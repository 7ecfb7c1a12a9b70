package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newJobWait(s Streams, r *remote) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait JOB... [flags]", Short: "Wait until jobs have ended, and say how", Args: named("job", anyNumber),
		Long: "Wait until jobs have ended, and say how. Exit code 0 if all succeeded, 1 if one failed, was lost\n" +
			"or was withdrawn, 5 if the time is over or the daemon is gone. A daemon that is started anew\n" +
			"meanwhile is waited for.",
		ValidArgsFunction: r.complete(anyNumber, jobNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it has not ended after %s", timeout))
					defer cancel()
				}
				return waitForJobs(ctx, s, c, args)
			})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait no longer than this; 0 is for ever")
	return cmd
}

// waitForJobs waits for jobs one after the other and prints how each ended. It is
// an error if one did not succeed.
func waitForJobs(ctx context.Context, s Streams, c *client.Client, names []string) error {
	bad := 0
	for _, name := range names {
		j, err := c.Wait(ctx, name)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("job %s (%s) %s", cell(j.Name), cell(j.ID), ended(&j))
		if j.State == client.Succeeded {
			fmt.Fprintln(s.Out, text)
			continue
		}
		bad++
		if len(names) == 1 {
			return fmt.Errorf("%s", text)
		}
		fmt.Fprintln(s.Out, text)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d jobs did not succeed", bad, len(names))
	}
	return nil
}

// ended says how a job ended.
func ended(j *client.Job) string {
	text := map[client.JobState]string{
		client.Succeeded: "succeeded", client.Failed: "failed", client.Lost: "was lost", client.Withdrawn: "was withdrawn",
	}[j.State]
	if j.Node != "" {
		text += " on node " + cell(j.Node)
	}
	if j.ExitCode != nil && *j.ExitCode != 0 {
		text += fmt.Sprintf(" with exit code %d", *j.ExitCode)
	}
	if j.Signal != "" {
		text += " (" + cell(j.Signal) + ")"
	}
	if j.Detail != "" {
		text += ": " + cell(j.Detail)
	}
	return text
}
