package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/poise-sched/poise/host/poise"
)

// Memory is an engine that runs nothing: a bound task is running until the
// test ends it. Its clock counts what happened, 1 for the first. The zero
// Memory is not usable; see NewMemory.
type Memory struct {
	board Board

	mu      sync.Mutex
	tick    poise.Time
	lose    int  // binds that get lost next
	held    bool // binds have no effect yet
	waiting []Binding
	ran     []Binding
}

var _ Engine = (*Memory)(nil)

// NewMemory gives an engine without tasks.
func NewMemory() *Memory { return &Memory{} }

// LoseBinds makes the next n new binds succeed without any effect, as one
// does whose engine dies before it acts.
func (m *Memory) LoseBinds(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose = n
}

// Hold keeps the tasks bound from now on in Starting until Release.
func (m *Memory) Hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = true
}

// Release starts the tasks that Hold kept, in the order of their binds.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
	for _, b := range m.waiting {
		m.start(b)
	}
	m.waiting = nil
}

// Finish ends a task with an exit code. It says whether the task was running.
func (m *Memory) Finish(placement string, code int32) bool {
	state := Succeeded
	if code != 0 {
		state = Failed
	}
	return m.end(placement, Status{State: state, ExitCode: code})
}

// Lose makes a task Lost. It says whether the task was running.
func (m *Memory) Lose(placement string) bool {
	return m.end(placement, Status{State: Lost, Detail: "lost by the test"})
}

// Ran gives the bindings of the tasks that were started, in that order.
func (m *Memory) Ran() []Binding {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ran)
}

// Bind implements Engine.
func (m *Memory) Bind(_ context.Context, b Binding) error {
	if err := b.Validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.board.Get(b.Placement); known {
		return nil
	}
	if m.lose > 0 {
		m.lose--
		return nil
	}
	m.board.Post(Status{Placement: b.Placement, State: Starting})
	if m.held {
		m.waiting = append(m.waiting, b)
	} else {
		m.start(b)
	}
	return nil
}

// Evict implements Engine; the task ends at once, as TERM ends it.
func (m *Memory) Evict(_ context.Context, placement string, _ poise.Span) error {
	if _, known := m.board.Get(placement); !known {
		return Unknown("evict", placement)
	}
	m.end(placement, Status{State: Failed, ExitCode: 143, Signal: "SIGTERM", Detail: "evicted"})
	return nil
}

// Watch implements Engine.
func (m *Memory) Watch(ctx context.Context, f func(Status)) error { return m.board.Watch(ctx, f) }

// Forget implements Engine.
func (m *Memory) Forget(_ context.Context, placement string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, known := m.board.Get(placement); known && !s.State.Ended() {
		return StillRuns(placement)
	}
	m.board.Drop(placement)
	return nil
}

func (m *Memory) start(b Binding) {
	m.tick++
	m.ran = append(m.ran, b)
	m.board.Post(Status{Placement: b.Placement, State: Running, Started: m.tick})
}

func (m *Memory) end(placement string, s Status) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, known := m.board.Get(placement)
	if !known || old.State.Ended() {
		return false
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(b Binding) bool { return b.Placement == placement })
	m.tick++
	s.Placement, s.Started, s.Ended = placement, old.Started, m.tick
	return m.board.Post(s)
}
