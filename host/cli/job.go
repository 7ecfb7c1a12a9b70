package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
)

func newJob(s Streams) *cobra.Command {
	r := &remote{}
	return group("job", "Submit jobs, watch them and ask why", r,
		newJobSubmit(s, r), newJobList(s, r), newJobGet(s, r), newJobCancel(s, r), newJobHold(s, r), newJobRelease(s, r), newJobPriority(s, r), newJobWhy(s, r), newJobWait(s, r), newJobLogs(s, r))
}

func newJobList(s Streams, r *remote) *cobra.Command {
	var o output
	var f client.JobFilter
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List jobs, newest first", Args: noArgs,
		Example: "  poise job list --state waiting",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				jobs, err := all(f.Limit, func(limit int, after string) ([]client.Job, string, error) {
					f := f
					f.Limit, f.After = limit, after
					page, err := c.Jobs(ctx, f)
					return page.Jobs, page.Next, err
				})
				if err != nil {
					return err
				}
				return printJobs(s, o, jobs)
			})
		},
	}
	o.addFlag(cmd)
	limitFlag(cmd, &f.Limit)
	cmd.Flags().StringVar((*string)(&f.State), "state", "", "only waiting, starting, running, succeeded, failed, lost or withdrawn ones")
	cmd.Flags().StringVar(&f.Name, "name", "", "only those of this name")
	cmd.Flags().StringVar(&f.Node, "node", "", "only those on this node")
	cmd.Flags().StringVar(&f.Selector, "selector", "", "only those whose labels match: "+selectorUsage)
	return cmd
}

func printJobs(s Streams, o output, jobs []client.Job) error {
	return o.print(s.Out, jobs, func(w io.Writer) error {
		t := rows{{"NAME", "ID", "STATE", "NODE", "PRIORITY", "SUBMITTED", "REASON"}}
		several := slices.ContainsFunc(jobs, func(j client.Job) bool { return j.Tenant != jobs[0].Tenant })
		if several {
			t[0] = slices.Insert(t[0], 0, "TENANT")
		}
		gangs := slices.ContainsFunc(jobs, func(j client.Job) bool { return j.Spec.Gang != nil })
		if gangs {
			t[0] = append(t[0], "GANG")
		}
		for i := range jobs {
			j := &jobs[i]
			cells := []string{j.Name, j.ID, string(j.State), j.Node, fmt.Sprint(j.Spec.Priority), moment(j.Submitted), j.Reason + j.Detail}
			if several {
				cells = slices.Insert(cells, 0, j.Tenant)
			}
			if gangs {
				cells = append(cells, gangText(j.Spec.Gang))
			}
			t.add(cells...)
		}
		return t.write(w, "jobs")
	})
}

func newJobGet(s Streams, r *remote) *cobra.Command {
	cmd := getCommand(s, r, "job", jobNames, (*client.Client).Job, jobFacts)
	cmd.Short, cmd.Long = "Show a job, by name or id", "Show a job, by name or id. A name means the newest job of that name."
	return cmd
}

func jobFacts(w io.Writer, j *client.Job) error {
	exit := ""
	if j.ExitCode != nil {
		exit = fmt.Sprint(*j.ExitCode)
	}
	var command []string
	for _, word := range j.Spec.Command {
		if word == "" || strings.ContainsAny(word, " '\"") {
			word = fmt.Sprintf("%q", word)
		}
		command = append(command, word)
	}
	return facts(w, append([]string{
		"name", j.Name, "id", j.ID, "tenant", j.Tenant, "state", string(j.State), "reason", j.Reason, "reserved", reservedText(j.Reserved),
		"priority", fmt.Sprint(j.Spec.Priority),
	}, append(lifeFacts(j), "request", amounts(j.Spec.Request), "run time", j.Spec.RunTime, "command", strings.Join(command, " "),
		"node", j.Node, "devices", indexes(j.Devices), "placement", j.Placement, "attempts", countText(j.Attempts), "submitted", moment(j.Submitted), "placed", moment(j.Placed),
		"started", moment(j.Started), "ended", moment(j.Ended), "exit code", exit, "signal", j.Signal, "detail", j.Detail)...)...)
}
