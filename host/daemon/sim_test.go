package daemon

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/store"
)

var (
	simSeed      = flag.Int64("sim.seed", 0, "the one seed that TestSimulation runs; 0 = many")
	simSeeds     = flag.Int("sim.seeds", 100, "seeds that TestSimulation runs")
	simSnapshots = flag.Int64("sim.snapshots", 40, "events between snapshots of TestSimulation")
	soak         = flag.Duration("soak", 0, "how long TestSimulation runs new seeds, in place of -sim.seeds")
)

// TestSimulation runs the loop, with faults of everything around it, under many
// seeds; see simulation.check for what always holds.
func TestSimulation(t *testing.T) {
	one := func(seed int64) map[string]int {
		t.Helper()
		s, err := simulate(seed)
		if err != nil {
			if *simSeed != 0 {
				t.Log(strings.Join(s.trace, "\n"))
			}
			t.Fatalf("seed %d: %v\n\tgo test ./host/daemon -run TestSimulation -sim.seed %d -v", seed, err, seed)
		}
		return s.seen()
	}
	if *simSeed != 0 {
		one(*simSeed)
		return
	}
	seeds := *simSeeds
	if testing.Short() {
		seeds = min(seeds, 50)
	}
	base := rand.Int63n(1<<40) << 20
	began, n := time.Now(), 0
	seen := map[string]int{}
	for ; *soak > 0 && time.Since(began) < *soak || *soak == 0 && n < seeds; n++ {
		for what, times := range one(base + 1 + int64(n)) {
			seen[what] += times
		}
	}
	t.Logf("%d seeds: %v", n, seen)
	// A simulation in which nothing goes wrong shows nothing.
	for _, what := range []string{stateSucceeded, stateFailed, stateLost, stateWithdrawn, "placed again", "recovered", "stalled", "cancelled", "started in a gang", "over at a deadline", "displaced"} {
		if seen[what] < n/8 {
			t.Errorf("%s: %d times in %d seeds, expected %d at least", what, seen[what], n, n/8)
		}
	}
}

// seen counts what has come about.
func (s *simulation) seen() map[string]int {
	seen := map[string]int{"recovered": s.recovered, "stalled": s.stalls, "cancelled": len(s.cancelled)}
	for id, row := range s.archive.jobs {
		seen[row.State]++
		seen["placed again"] += max(0, len(s.archive.places[id])-1)
		if row.GroupName != "" && len(s.archive.places[id]) > 0 {
			seen["started in a gang"]++
		}
		if strings.HasPrefix(row.Reason, deadline) {
			seen["over at a deadline"]++
		}
		for _, p := range s.archive.places[id] {
			if p.State == stateDisplaced {
				seen["displaced"]++
			}
		}
	}
	return seen
}

// simulate runs one seed to its end.
func simulate(seed int64) (s *simulation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			if s == nil {
				panic(p)
			}
		}
	}()
	if s, err = newSimulation(seed); err != nil {
		return s, err
	}
	s.failing = s.r.Intn(10)
	for range 150 + s.r.Intn(250) {
		if err := s.step(); err != nil {
			return s, err
		}
		s.catch()
		if err := s.check(); err != nil {
			return s, err
		}
	}
	return s, s.finish()
}

// step lets one thing happen.
func (s *simulation) step() error {
	c := s.core
	if len(c.commands) > turnCommands/2 {
		c.drain()
	}
	switch n := s.r.Intn(100); {
	case n < 9:
		return s.submit()
	case n < 11:
		return s.cancel()
	case n < 14:
		s.change()
	case n < 21:
		return s.changeFleet()
	case n < 31:
		s.note("decide")
		c.expire()
		s.whim.faulty = s.r.Intn(4) == 0
		_, err := c.decide()
		return err
	case n < 38:
		return s.settleOne()
	case n < 50:
		s.note("turn")
		c.drain()
		return c.flush(context.Background())
	case n < 66:
		return s.land()
	case n < 80:
		if len(s.line.order) > 0 {
			i := s.r.Intn(len(s.line.order))
			s.note("hand on %s", s.line.order[i])
			s.line.step(i)
		}
	case n < 86:
		s.listen(s.r.Intn(2) == 0)
	case n < 91:
		s.taskEnds()
	case n < 95:
		s.pass(poise.Time(s.r.Intn(2000)))
	case n < 96:
		s.note("clock goes back")
		s.clock -= poise.Time(s.r.Intn(3_600_000))
	case n < 97:
		if s.r.Intn(2) == 0 {
			s.policies()
			c.loop.UsePreempt(preemption(s.config))
			c.loop.UseReservations(int(s.config.Queue.Reservations), span(s.config.Queue.Patience))
		}
		return s.swap()
	case n < 98:
		s.stall()
	case n < 99:
		return s.recover()
	default:
		s.note("policy whims off")
		s.whim.faulty = false
	}
	return nil
}

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
