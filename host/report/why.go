package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// Why prints one decision in full: what the job asks for, the verdict, who was
// refused and by what it missed, who was ranked, and how the losses of the best
// two came about, so that a reader can add them up. It is attempt number
// attempt of so many on the job.
func Why(w io.Writer, job *state.Job, d *poise.Decision, attempt, attempts int) error {
	b := &strings.Builder{}
	writeAsks(b, job)
	if attempts > 1 {
		fmt.Fprintf(b, "  attempt    %d of %d\n", attempt, attempts)
	}
	writeVerdict(b, job, d)
	writeRefused(b, &job.Shape.Request, d)
	writeHelps(b, &job.Shape.Request, d)
	writeLeftOut(b, &job.Shape.Request, d)
	writeRanked(b, d)
	writeWinner(b, d)
	writeSeen(b, d)
	writeMatrices(b, d)
	fmt.Fprintf(b, "\ndecided by policy %s, equal losses by %s", plain(d.Policy), tieText(d))
	fmt.Fprintf(b, ";\nsnapshot %d, demand profile %d, %s looked at anew\n", d.Version, d.Epoch, nodes(d.Looked))
	for _, u := range d.Plugins {
		fmt.Fprintf(b, "plugin %s (%s): %d calls, %d rows, %d units of fuel\n", plain(u.Name), plain(u.Digest), u.Calls, u.Rows, u.Fuel)
	}
	if d.Fault != "" {
		fmt.Fprintf(b, "a policy failed: %s\n", plain(d.Fault))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeAsks(b *strings.Builder, job *state.Job) {
	fmt.Fprintf(b, "job %s", plain(job.Name))
	if string(job.ID) != job.Name {
		fmt.Fprintf(b, " (id %s)", plain(string(job.ID)))
	}
	fmt.Fprintf(b, " of tenant %s, priority %d\n", plain(string(job.Tenant)), job.Priority)
	shape := job.Shape
	fmt.Fprintf(b, "  asks for   %s\n", requestText(&shape.Request))
	for i := range shape.Selectors {
		fmt.Fprintf(b, "  only where %s\n", selectorText(&shape.Selectors[i]))
	}
	for i := range shape.Tolerations {
		fmt.Fprintf(b, "  tolerates  %s\n", tolerationText(&shape.Tolerations[i]))
	}
	if job.RunTime > 0 {
		fmt.Fprintf(b, "  run time   %s\n", time.Duration(job.RunTime)*time.Millisecond)
	}
}

func writeVerdict(b *strings.Builder, job *state.Job, d *poise.Decision) {
	b.WriteByte('\n')
	if d.Gang != nil && d.Verdict != poise.OverQuota {
		writeGang(b, job, d)
		return
	}
	switch d.Verdict {
	case poise.Placed:
		fmt.Fprintf(b, "placed on node %s%s: %d of %s can hold it now\n",
			plain(d.Node), devicesText(job.Shape.Request.Device.Kind, d.Devices), d.Fitting, nodes(d.Nodes))
	case poise.FitsNotNow:
		if slices.ContainsFunc(d.Reasons, func(r poise.Reason) bool { return r.Code() == poise.PolicyFaulted }) {
			fmt.Fprintf(b, "waits: %s\n", refusalText(&job.Shape.Request, poise.PolicyFaulted, ""))
			return
		}
		fmt.Fprintf(b, "waits: it fits, but not now; %s hold it as things stand\n", noneOf(d.Nodes, "can", "cannot"))
		writeCause(b, job, d)
	case poise.OverQuota:
		fmt.Fprintf(b, "waits: over quota; %s\n", quotaText(d.Quota))
	case poise.BehindOthers:
		fmt.Fprintf(b, "waits: behind others; %s kept for jobs that go before\n", keptNodes(d))
	default:
		fmt.Fprintf(b, "never fits the present nodes: %s hold it, even empty\n", noneOf(d.Nodes, "could", "could not"))
		writeCause(b, job, d)
	}
}

// keptNodes names what is kept for others, with its verb.
func keptNodes(d *poise.Decision) string {
	i := slices.IndexFunc(d.Refused, func(c poise.ReasonCount) bool { return c.Code == poise.Reserved })
	switch {
	case i < 0:
		return "what could hold it now is"
	case d.Refused[i].Nodes == 1:
		return "the one node that could hold it now is"
	}
	return fmt.Sprintf("all %d nodes that could hold it now are", d.Refused[i].Nodes)
}

// noneOf says of so many nodes that none can do something.
func noneOf(n int, can, cannot string) string {
	if n == 1 {
		return "the one node " + cannot
	}
	return fmt.Sprintf("none of %s %s", nodes(n), can)
}

// writeCause says what the verdict rests on. Where there is one reason only it
// follows anyway.
func writeCause(b *strings.Builder, job *state.Job, d *poise.Decision) {
	if c := d.Cause(); c != nil && len(d.Refused) > 1 {
		fmt.Fprintf(b, "  because %d of them: %s\n", c.Nodes, policyText(refusalText(&job.Shape.Request, c.Code, c.Dim), c.Text))
	}
}

// quotaText says which quota is in the way, and by how much.
func quotaText(q *poise.QuotaMiss) string {
	if q == nil {
		return "a tenant would hold more than it may"
	}
	name := plain(q.Resource)
	if q.Tenant == "" && q.Limit == 0 && q.Withheld == 0 { // the rest is not the caller's to know
		return fmt.Sprintf("what tenants above it hold, or others have kept for them, leaves too little %s; it asks for %s more", name, resource.Format(q.Resource, q.Ask))
	}
	used, ask, limit := resource.Format(q.Resource, q.Used), resource.Format(q.Resource, q.Ask), resource.Format(q.Resource, q.Limit)
	if q.Withheld > 0 {
		return fmt.Sprintf("%s of %s is kept for the guarantees of others, so all together may hold %s; it asks for %s more",
			resource.Format(q.Resource, q.Withheld), name, limit, ask)
	}
	over := resource.Format(q.Resource, q.Used-(q.Limit-q.Ask))
	return fmt.Sprintf("tenant %s holds %s of its limit of %s of %s, and it asks for %s more: %s too much", plain(string(q.Tenant)), used, limit, name, ask, over)
}

func writeRefused(b *strings.Builder, ask *poise.Request, d *poise.Decision) {
	if len(d.Refused) > 0 {
		b.WriteString("\nrefused nodes, by reason\n")
		width := len(fmt.Sprint(d.Refused[0].Nodes))
		for _, c := range d.Refused {
			fmt.Fprintf(b, "  %*d  %s\n", width, c.Nodes, policyText(refusalText(ask, c.Code, c.Dim), c.Text))
		}
	}
	if d.Nearest == nil {
		return
	}
	fmt.Fprintf(b, "nearest: %s\n", missText(ask, d.Nearest))
	for i := range d.Misses {
		if m := &d.Misses[i]; d.Verdict == poise.FitsNotNow && (m.Dim != d.Nearest.Dim || m.Node != d.Nearest.Node) {
			fmt.Fprintf(b, "nearest in %s: %s\n", plain(m.Dim), missText(ask, m))
		}
	}
}

// writeHelps says what would let the job start, each thing by itself.
func writeHelps(b *strings.Builder, ask *poise.Request, d *poise.Decision) {
	if len(d.Helps) == 0 {
		return
	}
	b.WriteString("\nwhat would help now, each by itself\n")
	for i := range d.Helps {
		fmt.Fprintf(b, "  %s\n", helpText(ask, &d.Helps[i]))
	}
}

// writeLeftOut says which of the refused nodes nobody had to look at.
func writeLeftOut(b *strings.Builder, ask *poise.Request, d *poise.Decision) {
	if len(d.LeftOut) == 0 {
		return
	}
	b.WriteString("left out as a class or a block of one, without a look at the node\n")
	width := len(fmt.Sprint(d.LeftOut[0].Nodes))
	for _, c := range d.LeftOut {
		fmt.Fprintf(b, "  %*d  of class %s: %s\n", width, c.Nodes, plain(c.Class), refusalText(ask, c.Code, c.Dim))
	}
}

func writeRanked(b *strings.Builder, d *poise.Decision) {
	if len(d.Ranked) == 0 {
		return
	}
	b.WriteString("\nranked nodes, best first: by tier, then by loss; the smaller loss is the better one\n")
	g := grid{indent: "  ", left: 1}
	g.add("node", "tier", "loss", "devices")
	for i := range d.Ranked {
		r := &d.Ranked[i]
		g.add(plain(r.Node), fmt.Sprint(r.Tier), fixed(r.Loss, lossDigits), indexes(r.Devices))
	}
	_ = g.write(b)
	if more := d.Fitting - len(d.Ranked); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// writeWinner says why the first node stands before the second.
func writeWinner(b *strings.Builder, d *poise.Decision) {
	if len(d.Ranked) == 0 {
		return
	}
	best := &d.Ranked[0]
	fmt.Fprintf(b, "\nwhy %s: ", plain(best.Node))
	if len(d.Ranked) == 1 {
		b.WriteString("it is the only node that can hold the job now\n")
		return
	}
	next := &d.Ranked[1]
	switch {
	case best.Tier != next.Tier:
		fmt.Fprintf(b, "it is in tier %d and %s in tier %d;\n  %s\n", best.Tier, plain(next.Node), next.Tier, tierText(best.Tier, next.Tier))
	case best.Near != next.Near:
		fmt.Fprintf(b, "what the pods near it weigh, by preferences about pods, is %d, and of %s %d\n", best.Near, plain(next.Node), next.Near)
	case best.Uneven != next.Uneven:
		fmt.Fprintf(b, "fewer pods of its spread rules are there than at %s\n", plain(next.Node))
	case best.Loss != next.Loss:
		fmt.Fprintf(b, "%s less loss than %s\n", trimmed(next.Loss-best.Loss), plain(next.Node))
	default:
		fmt.Fprintf(b, "equal loss to %s; %s decides\n", plain(next.Node), tieText(d))
	}
}

// tierText says what two tiers differ in that counts.
func tierText(best, next uint16) string {
	if best>>1 != next>>1 {
		return "the job prefers the one to the other, by its preferences and the taints that it does not tolerate"
	}
	return "nodes with devices are kept for jobs that ask for devices"
}

// tieText names the tie rule in force.
func tieText(d *poise.Decision) string {
	switch d.Ties {
	case "name":
		return "the name"
	case "seeded":
		return fmt.Sprintf("the hash of seed %d, job and node", d.Seed)
	case "published":
		return "the node order of the published experiment"
	}
	return "the rule " + plain(d.Ties)
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
