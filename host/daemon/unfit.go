package daemon

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// unfit says of jobs that are to be submitted which of them no present node, or for
// gangs not all of them together, could ever hold, and why: by job, "" for the
// others. It is an error where the tenant, or one above it, wants such jobs refused.
func (c *core) unfit(specs []Spec) ([]string, error) {
	s := c.loop.State()
	texts := make([]string, len(specs))
	gangs, order := map[string][]*state.Job{}, []string{}
	for i := range specs {
		j := &specs[i].Job
		draft, err := s.Draft(j, c.now())
		if err != nil {
			return nil, err
		}
		d, err := sched.Unfit(s.View(), draft)
		if err != nil {
			return nil, err
		}
		if d != nil {
			texts[i] = d.Summary() + nearestText(d.Nearest)
		}
		if g := j.Gang; g != nil && !g.Extra() {
			if gangs[g.ID] == nil {
				order = append(order, g.ID)
			}
			gangs[g.ID] = append(gangs[g.ID], draft)
		}
	}
	for _, id := range order {
		if !sched.GangUnfit(s.View(), gangs[id]) {
			continue
		}
		for i := range specs {
			if g := specs[i].Job.Gang; g != nil && g.ID == id && texts[i] == "" {
				texts[i] = fmt.Sprintf("%s: they cannot hold the %d tasks that start together, even empty", poise.NeverFits, len(gangs[id]))
			}
		}
	}
	for i, text := range texts {
		if j := &specs[i].Job; text != "" && c.refusesUnfit(j.Tenant) {
			return nil, &poise.Error{
				Kind: poise.Denied, Op: fmt.Sprintf("submit job %q", j.Name),
				Detail: text + "; the tenant has such jobs refused, expected one that the present nodes could hold when they are empty",
			}
		}
	}
	return texts, nil
}

// refusesUnfit says whether a tenant, or one above it, has such jobs refused.
func (c *core) refusesUnfit(id poise.TenantID) bool {
	for id != "" {
		t := c.loop.State().Policies().Tenant(id)
		if t == nil {
			return false
		}
		if t.RefuseUnfit {
			return true
		}
		id = t.Parent
	}
	return false
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
