package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
)

// lifeOf tells what a file says about a job's life beside what client.NewJobSpec
// does.
func lifeOf(s *client.JobSpec, j *manifest.Job) {
	s.After, s.AfterAny, s.AfterFailure = j.Task.After, j.Task.AfterAny, j.Task.AfterFailure
	s.StartBy, s.FinishBy = cmp.Or(s.StartBy, client.SpanText(j.StartIn)), cmp.Or(s.FinishBy, client.SpanText(j.FinishIn))
	s.Hold = j.Hold
	if a := j.Array; a != nil {
		s.Array = &client.ArraySpec{Count: a.Count, Parallel: a.Parallel}
	}
}

// lifeFlags say how one job lives.
type lifeFlags struct {
	after, afterAny, afterFailure []string
	startBy, finishBy, array      string
	backoff, maxBackoff           string
	retry                         int32
	hold                          bool
	labels                        []string
}

// lifeFlagNames are the flags that lifeFlags has.
func lifeFlagNames() []string {
	return []string{"after", "after-any", "after-failure", "start-by", "finish-by", "array", "retry", "backoff", "max-backoff", "hold", "label"}
}

func (l *lifeFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&l.after, "after", nil, "name or id of a job that has to succeed before; repeatable")
	f.StringArrayVar(&l.afterAny, "after-any", nil, "name or id of a job that has to end before, however it does; repeatable")
	f.StringArrayVar(&l.afterFailure, "after-failure", nil, "name or id of a job that has to end otherwise than well before; repeatable")
	f.StringVar(&l.startBy, "start-by", "", "withdraw the job where it has not started by then, such as 90m or 2026-12-01T08:00:00Z")
	f.StringVar(&l.finishBy, "finish-by", "", "end the job where it has not ended by then, such as 8h or 2026-12-01T08:00:00Z")
	f.StringVar(&l.array, "array", "", "so many equal jobs, such as 100, or 100:5 for at most 5 of them at a time")
	f.Int32Var(&l.retry, "retry", 0, "try the job again so often where its task fails or is lost")
	f.StringVar(&l.backoff, "backoff", "", "wait so long before the first retry, and twice as long before each further one (default 10s)")
	f.StringVar(&l.maxBackoff, "max-backoff", "", "wait no longer than this before a retry (default 5m)")
	f.BoolVar(&l.hold, "hold", false, "hold the job until somebody releases it")
	f.StringArrayVar(&l.labels, "label", nil, "KEY=VALUE that the job is found by; repeatable")
}

// fill says it in a spec.
func (l *lifeFlags) fill(s *client.JobSpec) error {
	s.After, s.AfterAny, s.AfterFailure = l.after, l.afterAny, l.afterFailure
	s.StartBy, s.FinishBy, s.Hold = l.startBy, l.finishBy, l.hold
	if l.retry != 0 {
		s.Retry = &client.RetrySpec{Limit: l.retry, Backoff: l.backoff, MaxBackoff: l.maxBackoff}
	} else if l.backoff+l.maxBackoff != "" {
		return usagef("--backoff or --max-backoff without --retry, expected how often the job is tried again")
	}
	if l.array != "" {
		count, parallel, several := strings.Cut(l.array, ":")
		n, err := strconv.ParseInt(count, 10, 32)
		p, err2 := int64(0), error(nil)
		if several {
			p, err2 = strconv.ParseInt(parallel, 10, 32)
		}
		if err != nil || err2 != nil || n < 1 || several && p < 1 {
			return usagef("--array %q: expected a number of jobs, such as 100, or 100:5 for at most 5 of them at a time", l.array)
		}
		s.Array = &client.ArraySpec{Count: int32(n), Parallel: int32(p)}
	}
	for _, pair := range l.labels {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return usagef("--label %q: expected KEY=VALUE", pair)
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[key] = value
	}
	return nil
}

const selectorUsage = "key=value, key!=value, key in (a,b), key notin (a,b), key or !key, apart by commas"

// actCommand does something to jobs by name, or to all that a selector names.
func actCommand(
	s Streams, r *remote, action client.JobAction, done, short, long string, one func(*client.Client, context.Context, string) (client.Job, error),
) *cobra.Command {
	var selector string
	cmd := &cobra.Command{
		Use: string(action) + " JOB... | --selector SELECTOR", Short: short, Long: long,
		Example:           fmt.Sprintf("  poise job %[1]s train\n  poise job %[1]s --selector 'team=vision,stage in (dev,test)'", action),
		ValidArgsFunction: r.complete(anyNumber, jobNames),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("selector") && len(args) > 0:
				return usagef("%q beside --selector, expected jobs or a selector", args[0])
			case cmd.Flags().Changed("selector"):
				return nil
			}
			return named("job", anyNumber)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				if cmd.Flags().Changed("selector") {
					swept, err := c.Sweep(ctx, action, selector)
					if err == nil {
						_, err = fmt.Fprintf(s.Out, "%s %s\n", countOf(swept.Jobs, "job"), done)
					}
					return err
				}
				for _, name := range args {
					j, err := one(c, ctx, name)
					if err != nil {
						return err
					}
					fmt.Fprintln(s.Out, standing(&j))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&selector, "selector", "", "all jobs that have not ended and whose labels match: "+selectorUsage)
	return cmd
}

// groupText says what a group of jobs is.
func groupText(a *client.Array) string {
	if a.Gang {
		return "gang"
	}
	return "array"
}

// standing says in a line how a job is, or an array, or a gang.
func standing(j *client.Job) string {
	if j.Array != nil && j.Array.States != nil {
		return fmt.Sprintf("%s %s (%s) is %s: %s", groupText(j.Array), cell(j.Name), cell(j.ID), j.State, statesText(j.Array))
	}
	text := fmt.Sprintf("job %s (%s) is %s", cell(j.Name), cell(j.ID), j.State)
	if j.Held != "" && j.State == client.Waiting {
		text += ", held by " + cell(j.Held)
	}
	return text
}

// statesText says how many elements of an array are in each state.
func statesText(a *client.Array) string {
	var parts []string
	for _, s := range []client.JobState{client.Waiting, client.Starting, client.Running, client.Succeeded, client.Failed, client.Lost, client.Withdrawn} {
		if n := a.States[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

func newJobCancel(s Streams, r *remote) *cobra.Command {
	return actCommand(s, r, client.CancelJobs, "cancelled", "Withdraw jobs that wait, stop jobs that run",
		"Withdraw jobs that wait, stop jobs that run. An array or a gang is all its jobs.", (*client.Client).Cancel)
}

func newJobHold(s Streams, r *remote) *cobra.Command {
	return actCommand(s, r, client.HoldJobs, "held", "Keep waiting jobs from being tried",
		"Keep waiting jobs from being tried until they are released. They keep their age, so they go before\njobs that came after them. A job that runs cannot be held. Of an array or a gang, the jobs that wait are.", (*client.Client).Hold)
}

func newJobRelease(s Streams, r *remote) *cobra.Command {
	return actCommand(s, r, client.ReleaseJobs, "released", "Let held jobs be tried", "Let jobs be tried that are held.", (*client.Client).Release)
}

func newJobPriority(s Streams, r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "priority JOB NUMBER", Short: "Give a job another priority",
		Long:              "Give a job another priority; larger is more urgent. It counts at once. One level outweighs\nqueue.step of waiting, 10m by default; poise job get shows both. Of a gang, all members have it then.",
		Example:           "  poise job priority train 10\n  poise job priority train -- -1",
		ValidArgsFunction: r.complete(1, jobNames),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%d arguments, expected a job and its priority", len(args))
			}
			if _, err := strconv.ParseInt(args[1], 10, 32); err != nil {
				return usagef("priority %q: expected a whole number from -2147483648 to 2147483647", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n, _ := strconv.ParseInt(args[1], 10, 32) // Args has checked it
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				j, err := c.SetPriority(ctx, args[0], int32(n))
				if err == nil {
					_, err = fmt.Fprintf(s.Out, "%s, with priority %d\n", standing(&j), n)
				}
				return err
			})
		},
	}
}

// lifeFacts are what there is to know of a job's life, for jobFacts.
func lifeFacts(j *client.Job) []string {
	retries, last, element, elements, order := "", "", "", "", ""
	if r := j.Spec.Retry; r != nil {
		retries = fmt.Sprintf("%d of %d, %s to %s apart", min(j.Failures, int(r.Limit)), r.Limit, r.Backoff, r.MaxBackoff)
	}
	for i := range j.Runs {
		if r := &j.Runs[i]; r.State == client.Failed || r.State == client.Lost {
			last = runText(r)
			break
		}
	}
	if a := j.Array; a != nil {
		switch elements = statesText(a); {
		case a.Index != nil:
			element, elements = fmt.Sprintf("%d of %d of %s (%s)", *a.Index, a.Count, a.Name, a.ID), ""
		case a.Parallel > 0:
			elements += fmt.Sprintf("; at most %d at a time", a.Parallel)
		}
	}
	if o := j.Order; o != nil {
		order = fmt.Sprintf("%.2f: priority %d and %.2f for its age; then by size, then by arrival, as number %d", o.Level, o.Priority, o.Age, o.Arrival)
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(j.Spec.Labels)) {
		labels = append(labels, key+"="+j.Spec.Labels[key])
	}
	return []string{
		"held by", j.Held, "effective priority", order, "labels", strings.Join(labels, ", "), "element", element, "elements", elements,
		"after", strings.Join(j.Spec.After, ", "), "after any", strings.Join(j.Spec.AfterAny, ", "), "after failure", strings.Join(j.Spec.AfterFailure, ", "),
		"start by", j.Spec.StartBy, "finish by", j.Spec.FinishBy, "retries", retries, "last failure", last,
	}
}

// runText says how a task ended.
func runText(r *client.Run) string {
	text := fmt.Sprintf("%s on node %s at %s", r.State, r.Node, moment(r.Ended))
	if r.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	if r.Signal != "" {
		text += " (" + r.Signal + ")"
	}
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}
