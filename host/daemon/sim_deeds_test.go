package daemon

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/store"
)

func (s *simulation) submit() error {
	var specs []Spec
	for range 1 + s.r.Intn(3) {
		s.jobs++
		spec := Spec{Command: []string{"run"}, Job: poise.Job{
			ID: "later", Name: fmt.Sprint("j", s.jobs), Tasks: 1, Priority: int32(s.r.Intn(3)),
			Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: int64(1+s.r.Intn(4)) * 1000}}},
		}}
		s.live(&spec)
		if s.r.Intn(5) == 0 {
			specs = append(specs, s.gang(spec)...)
		} else {
			specs = append(specs, spec)
		}
	}
	tenant := []string{"t", "t", "u"}[s.r.Intn(3)]
	s.needs(specs, s.knownRows(tenant))
	s.note("submit %d", len(specs))
	s.core.submit(specs, poise.TenantID(tenant), "", nil, func(rows []store.JobRow, err error) {
		for _, row := range rows {
			s.note("acknowledged %s %s", row.Name, row.ID)
			s.acknowledged[row.ID] = true
		}
	})
	return nil
}

func (s *simulation) cancel() error {
	ids := slices.Sorted(maps.Keys(s.core.jobs))
	if len(ids) == 0 {
		return nil
	}
	id := ids[s.r.Intn(len(ids))]
	s.note("cancel %s", id)
	s.core.cancel(id, func(err error) {
		s.note("cancelled %s: %v", id, err)
		if err == nil {
			s.cancelled[string(id)] = true
		}
	})
	return nil
}

func (s *simulation) changeFleet() error {
	if s.archive.stalled != nil {
		return nil
	}
	c := s.core
	all := c.nodes()
	if len(all) < 2 || s.r.Intn(3) == 0 {
		s.nodes++
		n := poise.Node{Name: fmt.Sprint("n", s.nodes%8), Cluster: durableCluster, Capacity: resource.List{{Name: "cpu", Value: int64(1+s.r.Intn(8)) * 1000}}}
		if s.nodes%8%2 == 1 {
			n.Cluster = volatileCluster
		}
		s.note("join %s of %d", n.Name, n.Capacity[0].Value)
		if err := c.join(n); err != nil {
			return err
		}
		return c.classify(model.Defaults(), s.r.Intn(5) == 0)
	}
	n := all[s.r.Intn(len(all))]
	yes, no := true, false
	switch s.r.Intn(7) {
	case 0, 6:
		s.note("leave %s", n.Name)
		for id, live := range c.jobs {
			if live.place.Node == n.Name {
				s.excused[string(id)] = true
			}
		}
		return c.leave(n.Name)
	case 1:
		s.note("drain %s", n.Name)
		return c.mark(n.Name, &yes, nil)
	case 2:
		s.note("silent %s", n.Name)
		return c.mark(n.Name, nil, &yes)
	case 3:
		s.note("shrink %s", n.Name)
		n.Capacity = resource.List{{Name: "cpu", Value: 1000}}
		return c.join(n)
	}
	s.note("ready %s", n.Name)
	return c.mark(n.Name, &no, &no)
}

// settleOne settles a piece of work that was planned elsewhere.
func (s *simulation) settleOne() error {
	if len(s.air) == 0 {
		return nil
	}
	i := s.r.Intn(len(s.air))
	p := s.air[i]
	s.air = slices.Delete(s.air, i, i+1)
	s.note("settle %s", p.work.Job.ID)
	p.lane.back()
	return s.core.settle(p.work)
}

// land makes a batch durable, and lets its effects happen.
func (s *simulation) land() error {
	if s.archive.stalled != nil || len(s.archive.queued) == 0 {
		return nil
	}
	f := s.core.flights.queue[0]
	s.core.flights.pop()
	if err := s.archive.land(); err != nil {
		return err
	}
	s.note("durable up to %d", len(s.archive.records))
	for _, e := range f.effects {
		e.done()
	}
	s.told = max(0, s.told-1)
	return nil
}

// stall begins or ends a stall. The first batch is told.
func (s *simulation) stall() {
	if s.archive.stalled != nil {
		s.note("stall ends")
		s.archive.stalled = nil
		return
	}
	s.note("stall")
	s.stalls++
	s.archive.stalled = &poise.Error{Kind: poise.Unavailable, Detail: "full"}
	if len(s.core.flights.queue) > 0 && s.told == 0 {
		s.told = 1
		for _, e := range s.core.flights.queue[0].effects {
			if e.late != nil {
				e.late(s.archive.stalled)
			}
		}
	}
}

// listen tells the loop what is new at the engines, all or some; at times more
// than once.
func (s *simulation) listen(all bool) {
	s.note("listen, all %v", all)
	for _, name := range []string{durableCluster, volatileCluster} {
		e := s.engines[name]
		news := e.news()
		if len(news) > 0 && !all {
			news = news[:1+s.r.Intn(len(news))]
		}
		for _, st := range news {
			if s.r.Intn(8) > 0 {
				e.heard[st.Placement] = st
			}
			s.core.status(e, st)
		}
	}
}

// taskEnds ends a task, by itself or without a trace.
func (s *simulation) taskEnds() {
	e := s.engines[[]string{durableCluster, volatileCluster}[s.r.Intn(2)]]
	statuses := slices.DeleteFunc(e.statuses(), func(st engine.Status) bool { return st.State != engine.Running })
	switch {
	case len(statuses) == 0:
	case s.r.Intn(3) == 0:
		e.Lose(statuses[s.r.Intn(len(statuses))].Placement)
	default:
		e.Finish(statuses[s.r.Intn(len(statuses))].Placement, int32(s.r.Intn(2)))
	}
}

// pass lets time pass, and timers fire.
func (s *simulation) pass(span poise.Time) {
	s.clock += span
	due := s.timers
	s.timers = nil
	for _, t := range due {
		if t.due <= s.clock {
			t.f()
		} else {
			s.timers = append(s.timers, t)
		}
	}
}
