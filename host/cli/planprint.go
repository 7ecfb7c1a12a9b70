package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// printPlan prints what becomes of jobs: of one, why it goes where it goes.
func printPlan(w io.Writer, o *client.Outlook, specs []client.JobSpec) error {
	if len(specs) > 1 {
		return printOutlook(w, o)
	}
	x := &o.Jobs[0]
	why := client.Why{Job: client.Job{Name: x.Job, Tenant: x.Tenant, State: client.Waiting, Spec: specs[0]}, Decision: x.Decision, At: o.From, Expected: x}
	if err := printWhy(w, &why); err != nil || !x.Start.Equal(o.From) {
		return err
	}
	_, err := fmt.Fprint(w, "\nexpected start: now; a plan submits nothing\n")
	return err
}

// printOutlook prints what becomes of several jobs, one a line, and what that
// rests on.
func printOutlook(w io.Writer, o *client.Outlook) error {
	t := rows{{"ORDER", "JOB", "TENANT", "START", "NODE", "PREEMPTS", "WHY"}}
	for i := range o.Jobs {
		x := &o.Jobs[i]
		node := x.Node
		if x.Start.IsZero() {
			node = ""
		}
		t.add(strconv.Itoa(i+1), x.Job, x.Tenant, startText(o.From, x), node, victims(x), because(x))
	}
	if err := t.write(w, "jobs"); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, outlookNotes(o))
	return err
}

// outlookNotes says what an outlook rests on, a line each.
func outlookNotes(o *client.Outlook) string {
	text := "\nas of " + moment(o.From) + ", if nothing else comes and every task ends when it says"
	if o.Endless > 0 {
		text += fmt.Sprintf("\n%d running without a run time: taken to stay", o.Endless)
	}
	if o.Overdue > 0 {
		text += fmt.Sprintf("\n%d running for longer than they said: taken to end now", o.Overdue)
	}
	if o.Cut != "" {
		text += "\nno further than " + moment(o.Until)
	}
	return text + "\n"
}

// startText says when a job starts, seen from a time.
func startText(from time.Time, x *client.Expectation) string {
	switch {
	case !x.Start.IsZero() && !x.Start.After(from):
		return "now"
	case !x.Start.IsZero():
		return "in " + roughly(x.Start.Sub(from))
	case !x.NotBefore.IsZero():
		return "after " + roughly(x.NotBefore.Sub(from))
	}
	return ""
}

// roughly gives a span in seconds or, from ten minutes on, in minutes.
func roughly(d time.Duration) string {
	if d < 10*time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// victims names who ends for a job.
func victims(x *client.Expectation) string {
	names := x.Preempts
	if x.Others > 0 {
		names = append(names[:len(names):len(names)], strconv.Itoa(x.Others)+" of others")
	}
	return strings.Join(names, ", ")
}

// because says why a job does not start at once, or not at all.
func because(x *client.Expectation) string {
	d := x.Decision
	if d == nil || d.Verdict == "placed" {
		return x.Note
	}
	decided, err := d.Poise()
	if err != nil {
		return d.Verdict
	}
	text := decided.Summary()
	if x.Note != "" && x.Note != poise.NeverFits.String() {
		text += "; " + x.Note
	}
	return text
}

// printExpected says when a job that waits is expected to start, unless it starts at
// once or never.
func printExpected(w io.Writer, why *client.Why) error {
	x := why.Expected
	if x == nil || x.Start.Equal(why.At) && !x.Start.IsZero() || x.Note == poise.NeverFits.String() {
		return nil
	}
	text := "not known"
	switch {
	case !x.Start.IsZero():
		text = moment(x.Start) + " on node " + cell(x.Node)
	case !x.NotBefore.IsZero():
		text = "not before " + moment(x.NotBefore)
	}
	if x.Note != "" {
		text += ": " + cell(x.Note)
	}
	if names := victims(x); names != "" {
		text += "; what ends for it: " + cell(names)
	}
	_, err := fmt.Fprintf(w, "\nexpected start: %s\n", text)
	return err
}
