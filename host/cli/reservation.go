package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/poise-sched/poise/host/api/client"
)

// reservedText says what is kept for a job, "" for nothing.
func reservedText(r *client.Reservation) string {
	if r == nil {
		return ""
	}
	text := r.Nodes[0]
	if more := len(r.Nodes) - 1; more > 0 {
		text += " and " + countOf(more, "more node")
	}
	if r.Start.IsZero() {
		return text + ", as soon as enough tasks there end: some declare no run time"
	}
	return text + ", expected at " + moment(r.Start)
}

// printReserved says what is kept for a job, and for whom from it.
func printReserved(out io.Writer, w *client.Why) error {
	if text := reservedText(w.Job.Reserved); text != "" {
		if _, err := fmt.Fprintf(out, "\nkept for it: %s\n", cell(text)); err != nil {
			return err
		}
	}
	b := w.Behind
	if b == nil {
		return nil
	}
	var who []string
	for _, name := range b.Jobs {
		who = append(who, cell(name))
	}
	for _, name := range b.Whose {
		who = append(who, cell(name))
	}
	if b.Others > 0 && len(b.Whose) == 0 {
		who = append(who, countOf(b.Others, "job")+" of others")
	}
	if len(who) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nnodes are kept for: %s\n", strings.Join(who, ", "))
	return err
}
