package daemon

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// check is what holds after every step: sums are those of the tasks, every job is
// in one place, and what the loop knows of a job agrees.
func (s *simulation) check() error {
	c := s.core
	view := c.loop.State().View()
	sum, tasks := map[string]int64{}, map[string]int{}
	jobs := c.loop.State().All()
	waits, ready := map[poise.JobID]bool{}, map[poise.JobID]bool{}
	for _, j := range jobs {
		live := c.jobs[j.ID]
		switch {
		case live == nil:
			return fmt.Errorf("job %s: in the state, not known", j.ID)
		case j.Waiting():
			waits[j.ID], ready[j.ID] = true, s.ready(j.ID)
			if live.place.ID != "" || live.row.State != stateWaiting || live.row.Node != "" || live.stop == cancelled {
				return fmt.Errorf("job %s waits: %+v", j.ID, live)
			}
		default:
			if live.place.ID == "" || c.byPlace[live.place.ID] != j.ID || live.row.Node != live.place.Node || live.engine == nil ||
				live.row.State != stateStarting && live.row.State != stateRunning {
				return fmt.Errorf("job %s is placed: %+v", j.ID, live)
			}
			sum[live.place.Node] += j.Shape.Request.Amounts[0].Value
			tasks[live.place.Node]++
		}
	}
	if len(jobs) != len(c.jobs) || len(c.byPlace) != len(jobs)-len(waits) {
		return fmt.Errorf("%d jobs in the state, %d known; %d wait, %d are placed", len(jobs), len(c.jobs), len(waits), len(c.byPlace))
	}
	for row := range uint32(view.Rows()) {
		if !view.Present(row) {
			continue
		}
		name := view.Name(row)
		if got := view.Allocated(row, 0); got != sum[name] || view.Running(row) != tasks[name] {
			return fmt.Errorf("node %s: %d milli-cores of %d tasks, expected %d of %d", name, got, view.Running(row), sum[name], tasks[name])
		}
		delete(sum, name)
	}
	if len(sum) > 0 {
		return fmt.Errorf("placed on nodes that are gone: %v", sum)
	}
	queued := map[poise.JobID]bool{}
	for _, item := range c.loop.Queued() {
		if queued[item.Job] || !ready[item.Job] {
			return fmt.Errorf("job %s: queued, and queued before: %v, is to be tried: %v", item.Job, queued[item.Job], ready[item.Job])
		}
		queued[item.Job] = true
	}
	for id := range ready {
		if len(s.air) == 0 && ready[id] && !queued[id] {
			return fmt.Errorf("job %s: waits to be tried, and is not queued", id)
		}
	}
	if err := s.checkState(); err != nil {
		return err
	}
	if s.fault != nil {
		return s.fault
	}
	return s.checkHistory()
}

// checkHistory checks that no acknowledged job is lost and that a job whose end is
// durable is over. That none runs twice is checked as it starts, see starts.
func (s *simulation) checkHistory() error {
	for id := range s.acknowledged {
		row, known := s.archive.jobs[id]
		if !known {
			return fmt.Errorf("job %s: acknowledged, and not in the history", id)
		}
		if ended(row.State) && s.core.jobs[poise.JobID(id)] != nil {
			return fmt.Errorf("job %s: ended in the history, and known to the loop", id)
		}
	}
	return nil
}

// finish lets everything go well: each job must come to an end, nothing may be
// left anywhere, and what was cancelled has been.
func (s *simulation) finish() error {
	s.failing, s.archive.stalled = 0, nil
	s.releaseAll()
	for round := range 3 {
		if round == 1 { // whose binds got lost are bound again
			if err := s.recover(); err != nil {
				return err
			}
		}
		s.note("finish %d", round)
		if round == 0 {
			if err := s.core.join(poise.Node{Name: "last", Cluster: durableCluster, Capacity: resource.List{{Name: "cpu", Value: 1 << 40}}}); err != nil {
				return err
			}
		}
		for range 40 {
			if err := s.calm(round == 2); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
		}
		for name, e := range s.engines {
			for _, st := range e.statuses() {
				if !st.State.Ended() && s.core.placed(st.Placement) == nil {
					return fmt.Errorf("engine %s runs %s, which is no job's", name, st.Placement)
				}
			}
		}
	}
	if n := s.core.loop.State().Jobs(); n > 0 {
		return fmt.Errorf("%d jobs have not ended: %s", n, s.left())
	}
	for name, e := range s.engines {
		if left := e.statuses(); len(left) > 0 {
			return fmt.Errorf("engine %s: left are %+v", name, left)
		}
	}
	for id := range s.acknowledged {
		row := s.archive.jobs[id]
		if !ended(row.State) {
			return fmt.Errorf("job %s: %s in the history, expected an end", id, row.State)
		}
		for _, p := range s.archive.places[id] {
			if p.Ended == 0 {
				return fmt.Errorf("placement %s of job %s: %s, expected an end", p.ID, id, p.State)
			}
		}
	}
	for id := range s.cancelled {
		if row := s.archive.jobs[id]; (row.State == stateFailed || row.State == stateWithdrawn) && !stopped(row.Reason) {
			return fmt.Errorf("job %s: %s (%s), expected it cancelled", id, row.State, row.Reason)
		}
	}
	return s.checkLives()
}

// calm does all there is to do once, in order.
func (s *simulation) calm(ends bool) error {
	c := s.core
	s.whim.faulty = false
	s.pass(10_000)
	c.drain()
	c.expire()
	if _, err := c.decide(); err != nil {
		return err
	}
	for s.catch(); len(s.air) > 0; s.catch() {
		if err := s.settleOne(); err != nil {
			return err
		}
	}
	if err := c.flush(context.Background()); err != nil {
		return err
	}
	for len(s.archive.queued) > 0 {
		if err := s.land(); err != nil {
			return err
		}
	}
	for len(s.line.order) > 0 {
		s.line.step(0)
	}
	s.listen(true)
	for _, name := range []string{durableCluster, volatileCluster} {
		for _, st := range s.engines[name].statuses() {
			if ends && st.State == engine.Running {
				s.engines[name].Finish(st.Placement, 0)
			}
		}
	}
	return nil
}
