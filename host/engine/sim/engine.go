package sim

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// DefaultRunTime is what the tasks of a daemon's simulated nodes take where their
// jobs do not say: long enough to see a fleet fill, and it empties by itself.
const DefaultRunTime poise.Span = 600_000

// Options are what an engine needs to know.
type Options struct {
	Scale   float64    // how many times faster time passes for the tasks
	Default poise.Span // run time of tasks that declare none; 0 = they never end
}

// Engine only waits. Close ends its goroutine.
type Engine struct {
	opt   Options
	board engine.Board
	wake  chan struct{}
	stop  context.CancelFunc
	done  chan struct{}

	mu    sync.Mutex
	bound int
	due   byTime
}

var _ engine.Engine = (*Engine)(nil)

// New gives an engine without tasks.
func New(opt Options) (*Engine, error) {
	const op = "open sim engine"
	if !(opt.Scale > 0) || math.IsInf(opt.Scale, 0) {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("scale: %v, expected a number above 0", opt.Scale)}
	}
	if opt.Default < 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("default: %d ms, expected 0 or more", opt.Default)}
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &Engine{opt: opt, wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go e.run(ctx)
	return e, nil
}

// Close ends the engine: no task ends any more.
func (e *Engine) Close() error {
	e.stop()
	<-e.done
	return nil
}

// Bind implements engine.Engine.
func (e *Engine) Bind(_ context.Context, b engine.Binding) error {
	if err := b.Validate(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if !e.board.Add(engine.Status{Placement: b.Placement, State: engine.Running, Started: stamp(now)}) {
		return nil
	}
	e.bound++
	length, ends := e.length(b.RunTime)
	if !ends {
		return nil
	}
	heap.Push(&e.due, entry{at: now.Add(length), order: e.bound, placement: b.Placement})
	if e.due[0].order == e.bound {
		select {
		case e.wake <- struct{}{}: // the first to end is another one now
		default:
		}
	}
	return nil
}

// length gives how long a task takes, or false where it never ends.
func (e *Engine) length(declared poise.Span) (time.Duration, bool) {
	if declared == 0 {
		declared = e.opt.Default
	}
	length := float64(declared) * float64(time.Millisecond) / e.opt.Scale
	// A length that a Duration cannot hold is some 300 years.
	if declared == 0 || length >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(length), true
}

// Evict implements engine.Engine. There is nothing that could take its time, so
// the grace does not matter.
func (e *Engine) Evict(_ context.Context, placement string, _ poise.Span) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, known := e.board.Get(placement)
	if !known {
		return engine.Unknown("evict", placement)
	}
	s.State, s.ExitCode, s.Signal, s.Detail, s.Ended = engine.Failed, 143, "SIGTERM", "evicted", stamp(time.Now())
	e.board.Post(s) // ignored where it has ended; its entry is, when its time comes
	return nil
}

// Watch implements engine.Engine.
func (e *Engine) Watch(ctx context.Context, f func(engine.Status)) error {
	return e.board.Watch(ctx, f)
}

// Forget implements engine.Engine.
func (e *Engine) Forget(_ context.Context, placement string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, known := e.board.Get(placement); known && !s.State.Ended() {
		return engine.StillRuns(placement)
	}
	e.board.Drop(placement)
	return nil
}

// run ends tasks when their time has come.
func (e *Engine) run(ctx context.Context) {
	defer close(e.done)
	for {
		var next <-chan time.Time
		if wait, some := e.endDue(time.Now()); some {
			next = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		case <-next:
		}
	}
}

// endDue ends what is due, and gives how long it is to the next end.
func (e *Engine) endDue(now time.Time) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.due) > 0 {
		if wait := e.due[0].at.Sub(now); wait > 0 {
			return wait, true
		}
		placement := heap.Pop(&e.due).(entry).placement
		// An evicted task may be forgotten by now.
		if s, known := e.board.Get(placement); known {
			s.State, s.Ended = engine.Succeeded, stamp(now)
			e.board.Post(s)
		}
	}
	return 0, false
}

func stamp(t time.Time) poise.Time { return poise.Time(t.UnixMilli()) }
