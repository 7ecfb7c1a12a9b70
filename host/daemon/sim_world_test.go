package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/telemetry"
)

// clusters of the simulation: the tasks of one outlive the daemon.
const (
	durableCluster  = "durable"
	volatileCluster = "volatile"
)

// simulation is a daemon without goroutines: what happens next is up to a seed.
type simulation struct {
	r       *rand.Rand
	trace   []string
	clock   poise.Time
	archive *archive
	config  *config.Config
	metrics *telemetry.Metrics

	core    *core
	line    *line
	timers  []simTimer
	told    int // flights whose effects were told of the stall that is on
	stacks  []*lane
	air     []planned // planned, not settled
	engines map[string]*twin
	whim    *whim

	failing      int // of ten binds
	fault        error
	acknowledged map[string]bool
	cancelled    map[string]bool // told so by the daemon
	held         map[string]bool // told so by the daemon, and not asked to release since
	excused      map[string]bool // may run again: its node left, or its engine died
	nodes, jobs  int
	ids          int // given out

	recovered, stalls int
}

type simTimer struct {
	due poise.Time
	f   func()
}

func newSimulation(seed int64) (*simulation, error) {
	c := config.Defaults()
	c.Store.SnapshotEvery = *simSnapshots
	metrics, err := telemetry.New(prometheus.NewRegistry(), "simulation")
	if err != nil {
		return nil, err
	}
	s := &simulation{
		r: rand.New(rand.NewSource(seed)), clock: 1_000_000_000_000, archive: newArchive(), config: &c, metrics: metrics,
		engines: map[string]*twin{}, acknowledged: map[string]bool{}, cancelled: map[string]bool{}, excused: map[string]bool{},
		held: map[string]bool{},
	}
	s.policies()
	s.engines[durableCluster] = s.newTwin()
	return s, s.recover()
}

func (s *simulation) newTwin() *twin {
	return &twin{
		Memory: engine.NewMemory(), heard: map[string]engine.Status{},
		fails: func() (bool, bool) {
			fails, late := s.r.Intn(10) < s.failing, s.r.Intn(3) == 0
			return fails && !late, fails && late
		},
		started: func(b engine.Binding) {
			s.note("%s of %s starts", b.Placement, b.Job)
			s.fault = cmp.Or(s.fault, s.starts(b))
		},
	}
}

// recover begins anew from what is durable. The volatile engine went with the
// daemon.
func (s *simulation) recover() error {
	s.recovered++
	s.note("recover at %d", len(s.archive.records))
	s.archive.queued, s.archive.stalled, s.told = nil, nil, 0
	s.engines[volatileCluster] = s.newTwin()
	clear(s.engines[durableCluster].heard)
	s.line, s.timers, s.air, s.stacks = &line{queues: map[string][]func(){}}, nil, nil, nil
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	r, err := restore(context.Background(), s.archive, state.Settings{}, log)
	if err != nil {
		return err
	}
	if err := errors.Join(s.sameState(r), s.checkLives()); err != nil {
		return err
	}
	for id, live := range r.jobs {
		if live.place.ID != "" && r.state.View().Cluster(rowOf(r.state, live.place.Node)) == volatileCluster {
			s.excused[string(id)] = true
		}
	}
	if s.core, err = newCore(r, s.config); err != nil {
		return err
	}
	c := s.core
	c.store, c.log, c.board, c.hands, c.metrics = s.archive, log, newBoard(), s.line, s.metrics
	c.now = func() poise.Time { return s.clock }
	c.newID = func() string { // the same of a seed each time
		s.ids++
		return fmt.Sprintf("%08d-0000-7000-8000-000000000000", s.ids)
	}
	c.after = func(wait time.Duration, f func()) {
		s.timers = append(s.timers, simTimer{s.clock + poise.Time(wait.Milliseconds()), f})
	}
	c.engines = func(cluster string) binder { return s.engines[cluster] }
	if err := s.operate(); err != nil {
		return err
	}
	if err := s.swap(); err != nil {
		return err
	}
	return c.resume()
}

func rowOf(s *state.State, node string) uint32 {
	row, _ := s.Row(node)
	return row
}

// swap puts another policy in force: native, or a plugin here or elsewhere.
func (s *simulation) swap() error {
	scorer, err := balance.NewSpread(nil)
	if err != nil {
		return err
	}
	st := &lane{stack: &stack.Stack{Policy: sched.Policy{Name: "native", Scorer: scorer}}}
	s.whim = &whim{name: fmt.Sprint("whim", len(s.stacks))}
	if s.r.Intn(3) > 0 {
		a := sched.Activation{Name: s.whim.name, Plugin: s.whim, OnFailure: sched.UseFallback}
		if s.r.Intn(2) == 0 {
			a.OnFailure = sched.Reject
		}
		if st.stack.Policy, err = st.stack.Policy.With(a); err != nil {
			return err
		}
		st.away = s.r.Intn(3) > 0
	}
	s.note("policy %s, away %v", st.stack.Policy.Name, st.away)
	s.stacks = append(s.stacks, st)
	return s.core.use(st)
}

// catch takes what is planned elsewhere, in an order of its own.
func (s *simulation) catch() {
	out := -len(s.air)
	for _, st := range s.stacks {
		out += st.out
	}
	var caught []planned
	for range out {
		caught = append(caught, <-s.core.planned)
	}
	slices.SortFunc(caught, func(a, b planned) int {
		return cmp.Or(cmp.Compare(a.work.Job.ID, b.work.Job.ID), strings.Compare(a.lane.stack.Policy.Name, b.lane.stack.Policy.Name))
	})
	s.air = append(s.air, caught...)
}

func (s *simulation) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf("%d ", len(s.trace))+fmt.Sprintf(format, args...))
}
