package daemon

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/poise"
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
