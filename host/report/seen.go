package report

import (
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// shownSeen is how many nodes have room beside each other.
const shownSeen = 5

// writeSeen shows what plugins saw of the ranked nodes: a line a column, since a
// plugin may have many of them, and the nodes beside each other. All nodes have
// the same columns, in one order.
func writeSeen(b *strings.Builder, d *poise.Decision) {
	if len(d.Ranked) == 0 || len(d.Ranked[0].Seen) == 0 {
		return
	}
	shown := d.Ranked[:min(len(d.Ranked), shownSeen)]
	b.WriteString("\nwhat plugins saw of them\n")
	g := grid{indent: "  ", left: 1}
	head := []string{"column"}
	for n := range shown {
		head = append(head, plain(shown[n].Node))
	}
	g.add(head...)
	for i, r := range shown[0].Seen {
		line := []string{plain(r.Name)}
		for n := range shown {
			line = append(line, plain(shown[n].Seen[i].Text))
		}
		g.add(line...)
	}
	_ = g.write(b)
}
