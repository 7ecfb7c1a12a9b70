package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/state"
)

func newJobWhy(s Streams, r *remote) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "why JOB [flags]", Short: "Explain the latest decision on a job", Args: named("job", 1),
		Long: "Explain the latest decision on a job: who was refused and why, who came nearest, and how the\n" +
			"losses of the best came about.",
		ValidArgsFunction: r.complete(1, jobNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showAnswer(cmd, s, r, o, func(ctx context.Context, c *client.Client) (client.Why, error) { return c.Why(ctx, args[0]) },
				func(out io.Writer, w client.Why) error { return printWhy(out, &w) })
		},
	}
	o.addFlag(cmd)
	return cmd
}

// printWhy prints a decision as a simulation prints its own.
func printWhy(out io.Writer, w *client.Why) error {
	if a := w.Job.Array; a != nil && a.States != nil {
		if _, err := fmt.Fprintf(out, "%s %s: %s; of these, job %s:\n\n", groupText(a), cell(a.Name), statesText(a), cell(w.Job.Name)); err != nil {
			return err
		}
	}
	if w.Decision == nil {
		reason := ""
		if text := w.Job.Reason + w.Job.Detail; text != "" {
			reason = ": " + cell(text)
		}
		_, err := fmt.Fprintf(out, "job %s (id %s) is %s, and nothing was decided on it yet%s\n", cell(w.Job.Name), cell(w.Job.ID), w.Job.State, reason)
		return errors.Join(err, printStanding(out, w), printExpected(out, w))
	}
	d, err := w.Decision.Poise()
	if err != nil {
		return err
	}
	spec, err := json.Marshal(w.Job.Spec)
	if err != nil {
		return err
	}
	read, err := manifest.DecodeSpec("the daemon's job", spec)
	if err != nil {
		return err
	}
	shape := &state.Shape{Request: read.Request, Selectors: read.Selectors, Tolerations: read.Tolerations}
	job := state.NewJob(&poise.Job{
		ID: d.Job, Name: w.Job.Name, Tenant: read.Tenant, Priority: read.Priority, Tasks: read.Tasks, RunTime: read.RunTime,
	}, shape, nil, 0, 0)
	if w.Job.ID != "" { // the decision may be on one like it, or on its gang
		job.ID = poise.JobID(w.Job.ID)
	}
	if err := report.Why(out, job, d, w.Attempt, w.Job.Attempts); err != nil {
		return err
	}
	if w.Like != "" {
		if _, err := fmt.Fprintf(out, "\nthis was decided on job %s, which asks for the same and goes first\n", cell(w.Like)); err != nil {
			return err
		}
	}
	if err := errors.Join(printReserved(out, w), printStanding(out, w), printExpected(out, w)); err != nil {
		return err
	}
	switch {
	case w.Waits != "":
		_, err = fmt.Fprintf(out, "\nnothing is planned now: %s\n", cell(w.Waits))
	case w.Job.State.Ended():
		_, err = fmt.Fprintf(out, "\nsince then the job %s\n", ended(&w.Job))
	case w.Job.State == client.Waiting && w.Job.Reason != "" && d.Verdict == poise.Placed:
		_, err = fmt.Fprintf(out, "\nsince then the job waits again: %s\n", cell(w.Job.Reason))
	case w.Job.State == client.Waiting && d.Verdict != poise.NeverFits:
		if more, ok := strings.CutPrefix(w.Job.Reason, d.Summary()+"; "); ok {
			_, err = fmt.Fprintf(out, "\nbesides: %s\n", cell(more))
		}
	}
	return err
}

// printStanding says where a job stands in the queue.
func printStanding(out io.Writer, w *client.Why) error {
	q := w.Queue
	if q == nil {
		return nil
	}
	text := "it is the first of its tenant"
	if q.Ahead > 0 {
		count, names := countOf(q.Ahead, "job"), make([]string, len(q.First))
		if q.More {
			count = "more than " + count
		}
		for i, name := range q.First {
			names[i] = cell(name)
		}
		text = fmt.Sprintf("%s of its tenant before it: %s", count, strings.Join(names, ", "))
		if q.Ahead > len(q.First) {
			text += ", …"
		}
	}
	switch {
	case q.Tenants > 0:
		text += fmt.Sprintf("; it is the turn of %s first, and %s of others wait in all", countOf(q.Tenants, "other tenant"), countOf(q.Waiting, "job"))
	case q.OthersFirst:
		text += "; it is the turn of other tenants first"
	}
	_, err := fmt.Fprintf(out, "\nin the queue: %s\n", text)
	return err
}

// countOf gives a number of things in words.
func countOf(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
