package report

import (
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// writeGang says what became of a gang, or of a member of one that starts.
func writeGang(b *strings.Builder, job *state.Job, d *poise.Decision) {
	switch d.Verdict {
	case poise.Placed:
		fmt.Fprintf(b, "placed on node %s%s, as task %d of a gang of %d", plain(d.Node), devicesText(job.Shape.Request.Device.Kind, d.Devices), d.Gang.Index, d.Gang.Size)
		if d.Gang.Domain != "" {
			fmt.Fprintf(b, " (%s: %s)", plain(d.Gang.Topology), plain(d.Gang.Domain))
		}
		if d.Gang.Held {
			b.WriteString(", which was kept for it")
		}
		fmt.Fprintf(b, ": %d of %s can hold it now\n", d.Fitting, nodes(d.Nodes))
		return
	case poise.NeverFits:
		if key, ok := strings.CutPrefix(d.Gang.Topology, poise.TopologyPack+" by "); ok {
			fmt.Fprintf(b, "never fits the present nodes: no %s can hold the gang, even empty\n", plain(key))
			break
		}
		fmt.Fprintf(b, "never fits the present nodes: %s together cannot hold the gang, even empty\n", nodes(d.Nodes))
	case poise.BehindOthers:
		b.WriteString("waits: behind others; what could hold the gang now is kept for jobs that go before\n")
	default:
		b.WriteString("waits: the gang fits, but not now\n")
	}
	fmt.Fprintf(b, "  %s\n", plain(d.Gang.String()))
	writeCause(b, job, d)
}
