package loop

import (
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
)

// Progress is what a Loop knows beside its State: what was tried and is not to be
// tried again before something helps, and what it will look into. It shares nothing
// with the loop.
type Progress struct {
	lists    map[poise.TenantID]queue.Tried
	alone    []poise.JobID
	rests    map[string]poise.Time // of lanes
	hungry   hungry
	reserved reserved // without its horizon, which the state gives anew
}

// Progress gives what the loop knows now. It costs in the number of shapes that
// wait. What a lane plans now counts as not tried.
func (l *Loop) Progress() *Progress {
	p := &Progress{
		lists: map[poise.TenantID]queue.Tried{}, alone: l.shapes.allAlone(), rests: map[string]poise.Time{},
		hungry: l.hungry.clone(), reserved: l.reserved.clone(),
	}
	for id, of := range l.lists {
		p.lists[id] = of.queue.Tried()
	}
	for name, each := range l.lanes {
		if each.until {
			p.rests[name] = each.rest
		}
	}
	return p
}

// Resume is Fill on a copy of the state of another loop of the same settings and
// lanes: the loop goes on as that one would.
func (l *Loop) Resume(p *Progress, now poise.Time) error {
	for _, id := range p.alone {
		if j := l.state.Job(id); j != nil {
			l.shapes.alone(j)
		}
	}
	if err := l.Fill(); err != nil {
		return err
	}
	for id, of := range l.lists {
		if tried, ok := p.lists[id]; ok {
			of.queue.Resume(&tried, now)
		}
	}
	for name, until := range p.rests {
		l.Rest(name, until)
	}
	l.hungry = p.hungry.clone()
	horizon := l.reserved.horizon
	l.reserved = p.reserved.clone()
	l.reserved.horizon = horizon
	return nil
}

// allAlone gives the jobs that no other is like, by id.
func (s *shapes) allAlone() []poise.JobID {
	var all []poise.JobID
	for key := range s.ids {
		if key.alone != "" {
			all = append(all, key.alone)
		}
	}
	slices.Sort(all)
	return all
}

func (h *hungry) clone() hungry {
	c := *h
	c.of = make(map[poise.JobID]*hunger, len(h.of))
	for id, each := range h.of {
		copied := *each
		c.of[id] = &copied
	}
	return c
}

func (r *reserved) clone() reserved {
	c := *r
	c.horizon, c.refused = nil, make(map[poise.JobID]map[sched.RefusedRow]uint64, len(r.refused))
	for id, rows := range r.refused {
		c.refused[id] = maps.Clone(rows)
	}
	c.again = slices.Clone(r.again)
	return c
}
