package loop

import "github.com/poise-sched/poise/host/poise"

// Commit gives the event that commits the decision, nil where nothing is placed.
func (s *Settled) Commit() poise.Body {
	if s.Dropped || s.Again != nil || s.Decision.Verdict != poise.Placed {
		return nil
	}
	if s.Members == nil {
		return poise.JobPlaced{Placement: placement(&s.Decision)}
	}
	g := poise.GangPlaced{Placements: make([]poise.Placement, len(s.Members))}
	for i := range s.Members {
		g.Placements[i] = placement(&s.Members[i])
	}
	return g
}

func placement(d *poise.Decision) poise.Placement {
	return poise.Placement{Job: d.Job, Node: d.Node, Devices: d.Devices}
}
