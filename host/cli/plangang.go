package cli

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
)

// planAll plans each job by itself, and each gang as a whole. Members of a gang stand
// together.
func planAll(ctx context.Context, c *client.Client, specs []client.JobSpec) ([]client.Why, error) {
	var list []client.Why
	for len(specs) > 0 {
		n := 1
		if g := specs[0].Gang; g != nil {
			for n < len(specs) && specs[n].Gang != nil && specs[n].Gang.ID == g.ID {
				n++
			}
			planned, err := c.PlanGang(ctx, specs[:n])
			if err != nil {
				return nil, err
			}
			list = append(list, planned...)
		} else {
			if specs[0].Name == "" {
				specs[0].Name = "plan"
			}
			w, err := c.Plan(ctx, specs[0])
			if err != nil {
				return nil, err
			}
			list = append(list, w)
		}
		specs = specs[n:]
	}
	return list, nil
}

// gangText says which member of which gang a job is.
func gangText(g *client.GangSpec) string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf("%s %d/%d", g.Name, g.Index, g.Size)
}
