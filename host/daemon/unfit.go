package daemon

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// unfit says of a job that is to be submitted why no present node could ever hold
// it, "" for one that some node could. It is an error where the job's tenant, or
// one above it, wants such jobs refused.
func (c *core) unfit(j *poise.Job) (string, error) {
	s := c.loop.State()
	draft, err := s.Draft(j, c.now())
	if err != nil {
		return "", err
	}
	d, err := sched.Unfit(s.View(), draft)
	if d == nil || err != nil {
		return "", err
	}
	text := d.Summary() + nearestText(d.Nearest)
	for id := j.Tenant; id != ""; {
		t := s.Policies().Tenant(id)
		if t == nil {
			break
		}
		if t.RefuseUnfit {
			return "", &poise.Error{
				Kind: poise.Denied, Op: fmt.Sprintf("submit job %q", j.Name),
				Detail: text + "; the tenant has such jobs refused, expected one that a present node could hold when it is empty",
			}
		}
		id = t.Parent
	}
	return text, nil
}

// nearestText says which node came nearest, and by how much it missed.
func nearestText(m *poise.Miss) string {
	switch {
	case m == nil:
		return ""
	case m.Beyond == 0:
		return "; the nearest is node " + m.Node
	}
	return fmt.Sprintf("; the nearest, node %s, has %s of %s %s", m.Node, resource.Format(m.Dim, m.Have), resource.Format(m.Dim, m.Ask), m.Dim)
}
