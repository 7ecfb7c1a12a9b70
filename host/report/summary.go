package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/poise-sched/poise/host/sim"
)

// waitingShown is how many kinds of waiting jobs a summary explains; the rest
// is counted.
const waitingShown = 12

// Summary prints what one run came to: how full each make of node was, how
// each tenant fared, why jobs still wait, and as its last line how many jobs
// were placed and how many wait (or failed, where each is tried once).
func Summary(w io.Writer, r *sim.Result) error {
	use := grid{indent: "  ", left: 1}
	use.add("nodes in use at the end", "nodes", "cpu %", "memory %", "devices %")
	for i := range r.Classes {
		c := &r.Classes[i]
		use.add(plain(c.Name), strconv.Itoa(c.Nodes), tenths(c.CPU), tenths(c.Memory), tenths(c.Devices))
	}
	use.add()
	if err := use.write(w); err != nil {
		return err
	}
	if r.Replay == nil {
		_, err := fmt.Fprintf(w, "%d placed, %d failed\n", r.Placed, r.Failed)
		return err
	}
	if err := writeTenants(w, r.Replay.Tenants); err != nil {
		return err
	}
	if err := writeSizes(w, r.Replay); err != nil {
		return err
	}
	if err := writeHappened(w, r); err != nil {
		return err
	}
	if err := writeWaiting(w, r.Replay); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d placed, %d waiting\n", r.Placed, r.Replay.Pending)
	return err
}

func tenths(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func writeTenants(w io.Writer, tenants []sim.TenantUse) error {
	g := grid{indent: "  ", left: 1}
	g.add("tenant", "jobs", "placed", "not started", "mean wait s", "p99 wait s", "slowdown", "share %")
	for i := range tenants {
		t := &tenants[i]
		g.add(plain(string(t.Tenant)), strconv.Itoa(t.Jobs), strconv.Itoa(t.Placed), strconv.Itoa(t.Jobs-t.Placed),
			tenths(t.MeanWait), tenths(t.P99Wait), number(t.Slowdown, 2), tenths(100*t.Share))
	}
	g.add()
	return g.write(w)
}

// writeSizes says how small and large jobs fared, where there are both.
func writeSizes(w io.Writer, r *sim.ReplayResult) error {
	if len(r.Sizes) < 2 {
		return nil
	}
	g := grid{indent: "  ", left: 1}
	g.add("size", "jobs", "placed", "not started", "mean wait s", "p99 wait s", "slowdown")
	for i := range r.Sizes {
		u := &r.Sizes[i]
		g.add(u.Size, strconv.Itoa(u.Jobs), strconv.Itoa(u.Placed), strconv.Itoa(u.Jobs-u.Placed), tenths(u.MeanWait), tenths(u.P99Wait), number(u.Slowdown, 2))
	}
	g.add()
	return g.write(w)
}

// writeWaiting says how many jobs wait for which reason and, for each kind of them,
// what the first waits for.
func writeWaiting(w io.Writer, r *sim.ReplayResult) error {
	waiting, jobs := r.Waiting, r.Pending
	if len(waiting) == 0 {
		return nil
	}
	g := grid{indent: "  ", left: 1}
	g.add("jobs that wait at the end", "jobs")
	for i := range r.Reasons {
		g.add(plain(r.Reasons[i].Reason), strconv.Itoa(r.Reasons[i].Jobs))
	}
	g.add()
	if err := g.write(w); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, "  why they wait: in the order of the queue, then those that are not tried"); err != nil {
		return err
	}
	for i := range waiting {
		item := &waiting[i]
		if i == waitingShown {
			break
		}
		jobs -= item.Jobs
		name := plain(item.Job)
		if item.Jobs > 1 {
			name += fmt.Sprintf(" and %d like it", item.Jobs-1)
		}
		if _, err := fmt.Fprintf(w, "    %s (%s)\n      %s\n", name, requestText(&item.Request), waitText(item)); err != nil {
			return err
		}
	}
	if jobs > 0 {
		if _, err := fmt.Fprintf(w, "    and %d jobs of other kinds\n", jobs); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func waitText(item *sim.Waiting) string {
	text := plain(item.Reason)
	if item.Detail != "" {
		text += ", " + plain(item.Detail)
	}
	if d := item.Decision; d != nil && d.Nearest != nil {
		text += "; nearest: " + missText(&item.Request, d.Nearest)
	}
	return text
}
