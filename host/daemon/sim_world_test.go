package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	"github.com/poise-sched/poise/host/store"
	"github.com/poise-sched/poise/host/telemetry"
)

// archive is a store in memory: what is in it is durable.
type archive struct {
	records   []store.Record
	jobs      map[string]store.JobRow
	places    map[string]map[string]store.PlacementRow // by job and id
	snapshots map[uint64][]byte
	queued    []store.Batch // appended and not durable
	stalled   error
}

var (
	_ ledger  = (*archive)(nil)
	_ history = (*archive)(nil)
)

func newArchive() *archive {
	return &archive{jobs: map[string]store.JobRow{}, places: map[string]map[string]store.PlacementRow{}, snapshots: map[uint64][]byte{}}
}

// Append queues a batch; what is given is only to be passed on.
func (a *archive) Append(b store.Batch) *store.Pending {
	a.queued = append(a.queued, b)
	return nil
}

func (a *archive) Stalled() error { return a.stalled }

func (a *archive) PutSnapshot(_ context.Context, seq uint64, body []byte, _ bool) error {
	if seq > uint64(len(a.records)) {
		return fmt.Errorf("snapshot %d of %d records", seq, len(a.records))
	}
	a.snapshots[seq] = body
	return nil
}

func (a *archive) Snapshots(context.Context) ([]store.SnapshotInfo, error) {
	var all []store.SnapshotInfo
	for _, seq := range slices.Sorted(maps.Keys(a.snapshots)) {
		all = append(all, store.SnapshotInfo{Seq: seq})
	}
	return all, nil
}

func (a *archive) Snapshot(_ context.Context, seq uint64) ([]byte, error) {
	return a.snapshots[seq], nil
}

func (a *archive) Read(_ context.Context, from uint64, f func(store.Record) error) error {
	for _, r := range a.records[from-1:] {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) Unfinished(_ context.Context, states ...string) (jobs []store.JobRow, open []store.PlacementRow, _ error) {
	for id, row := range a.jobs {
		if !slices.Contains(states, row.State) {
			continue
		}
		jobs = append(jobs, row)
		for _, p := range a.places[id] {
			if p.Ended == 0 {
				open = append(open, p)
			}
		}
	}
	return jobs, open, nil
}

// land makes the first batch durable, or says what is wrong with it.
func (a *archive) land() error {
	b := a.queued[0]
	a.queued = a.queued[1:]
	for _, r := range b.Records {
		if r.Seq != uint64(len(a.records))+1 {
			return fmt.Errorf("event %d after %d", r.Seq, len(a.records))
		}
		a.records = append(a.records, r)
	}
	for _, row := range b.Jobs {
		if old, ok := a.jobs[row.ID]; ok && ended(old.State) {
			return fmt.Errorf("job %s: %s, after its end: %s (%s)", row.ID, row.State, old.State, old.Reason)
		}
		a.jobs[row.ID] = row
	}
	for _, row := range b.Placements {
		if a.places[row.Job] == nil {
			a.places[row.Job] = map[string]store.PlacementRow{}
		}
		if old := a.places[row.Job][row.ID]; old.Ended > 0 {
			return fmt.Errorf("placement %s: %s, after its end: %s", row.ID, row.State, old.State)
		}
		a.places[row.Job][row.ID] = row
	}
	return nil
}

func ended(s string) bool {
	return s == stateSucceeded || s == stateFailed || s == stateLost || s == stateWithdrawn
}

// twin is an engine that fails as the simulation has it.
type twin struct {
	*engine.Memory
	fails   func() (before, after bool) // whether a bind fails before or after it has its effect
	started func(engine.Binding)
	heard   map[string]engine.Status // what the loop was told
}

func (e *twin) Bind(ctx context.Context, b engine.Binding) error {
	before, after := e.fails()
	started := len(e.Ran())
	defer func() {
		if len(e.Ran()) > started {
			e.started(b)
		}
	}()
	if before {
		return &poise.Error{Kind: poise.Unavailable, Op: "bind", Detail: "no"}
	}
	err := e.Memory.Bind(ctx, b)
	if after && err == nil {
		return &poise.Error{Kind: poise.Unavailable, Op: "bind", Detail: "no answer"}
	}
	return err
}

// present is a context that ends a Watch once it has told the present.
type present struct{ context.Context }

func (present) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }
func (present) Err() error            { return nil }

// statuses gives what an engine knows, by placement.
func (e *twin) statuses() []engine.Status {
	var all []engine.Status
	_ = e.Watch(present{context.Background()}, func(s engine.Status) { all = append(all, s) }) // it ends without error
	return all
}

// news gives what the loop was not told yet.
func (e *twin) news() []engine.Status {
	return slices.DeleteFunc(e.statuses(), func(s engine.Status) bool {
		told, ok := e.heard[s.Placement]
		return ok && told == s
	})
}

// line does what the loop wants done when the simulation says.
type line struct {
	queues map[string][]func()
	order  []string
}

func (l *line) do(placement string, f func()) {
	if len(l.queues[placement]) == 0 {
		l.order = append(l.order, placement)
	}
	l.queues[placement] = append(l.queues[placement], f)
}

// step does the next thing of the i-th placement that has one.
func (l *line) step(i int) {
	p := l.order[i]
	f := l.queues[p][0]
	if l.queues[p] = l.queues[p][1:]; len(l.queues[p]) == 0 {
		delete(l.queues, p)
		l.order = slices.Delete(l.order, i, i+1)
	}
	f()
}

// whim is a policy plugin that fails when it likes.
type whim struct {
	name   string
	faulty bool
}

func (p *whim) Filters() bool                              { return true }
func (p *whim) Scores() bool                               { return true }
func (p *whim) Prepare(*state.Snapshot, *state.Job) uint64 { return 0 }
func (p *whim) Key(*state.Job) string                      { return "" }
func (p *whim) ReasonText(uint8) string                    { return "a whim" }
func (p *whim) Use() poise.PluginUse                       { return poise.PluginUse{Name: p.name} }

func (p *whim) Filter(_ *state.Batch, reasons []poise.Reason) error {
	clear(reasons)
	return p.fault()
}

func (p *whim) Score(_ *state.Batch, loss []float64, devices []uint32) error {
	clear(loss)
	clear(devices)
	return p.fault()
}

func (p *whim) fault() error {
	if p.faulty {
		return errors.New("a whim")
	}
	return nil
}

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
