package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
)

// decisions gives what was decided: about the job, or about each member of a gang that
// starts.
func (t *trial) decisions() []poise.Decision {
	if t.members != nil {
		return t.members
	}
	return []poise.Decision{t.decision}
}

// printMembers prints where the members of a gang go that starts.
func (t *trial) printMembers(w io.Writer) error {
	if t.members == nil {
		return nil
	}
	g := t.decision.Gang
	if _, err := fmt.Fprintf(w, "\ngang of %d: %d start together, the above is of the first\n", g.Size, len(t.members)); err != nil {
		return err
	}
	list := rows{{"TASK", "ORDER", "NODE", "DEVICES", "DOMAIN", "LOSS"}}
	for i := range t.members {
		d := &t.members[i]
		devices, loss := "", ""
		if len(d.Devices) > 0 {
			devices = indexes(d.Devices)
		}
		if len(d.Ranked) > 0 {
			loss = fmt.Sprintf("%.9g", d.Ranked[0].Loss)
		}
		list.add(strconv.Itoa(i), strconv.Itoa(int(d.Gang.Fitted)+1), d.Node, devices, d.Gang.Domain, loss)
	}
	return list.write(w, "tasks")
}
