package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// external is the engine of nodes whose tasks somebody else runs: it keeps what
// is to run, and takes in what the executors report.
type external struct {
	board engine.Board
	mu    sync.Mutex
	bound map[string]assigned // by placement; guarded by mu
}

type assigned struct {
	binding engine.Binding
	stop    bool
}

var _ engine.Engine = (*external)(nil)

func newExternal() *external { return &external{bound: map[string]assigned{}} }

// Bind implements engine.Engine.
func (e *external) Bind(_ context.Context, b engine.Binding) error {
	e.mu.Lock()
	if _, ok := e.bound[b.Placement]; !ok {
		e.bound[b.Placement] = assigned{binding: b}
	}
	e.mu.Unlock()
	e.board.Add(engine.Status{Placement: b.Placement, State: engine.Starting})
	return nil
}

// Evict implements engine.Engine: the executor sees it at its next look.
func (e *external) Evict(_ context.Context, placement string, _ poise.Span) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, ok := e.bound[placement]
	if !ok {
		return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("evict %q", placement), Detail: "no such task"}
	}
	a.stop = true
	e.bound[placement] = a
	return nil
}

// Watch implements engine.Engine.
func (e *external) Watch(ctx context.Context, f func(engine.Status)) error {
	return e.board.Watch(ctx, f)
}

// Forget implements engine.Engine.
func (e *external) Forget(_ context.Context, placement string) error {
	e.mu.Lock()
	delete(e.bound, placement)
	e.mu.Unlock()
	e.board.Drop(placement)
	return nil
}

// assignments lists what the executor of a node is to run, by placement.
func (e *external) assignments(node string) []assigned {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []assigned
	for _, a := range e.bound {
		if a.binding.Node == node {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b assigned) int { return cmp.Compare(a.binding.Placement, b.binding.Placement) })
	return all
}

// report takes in what an executor says. A repetition changes nothing.
func (e *external) report(s engine.Status) error {
	e.mu.Lock()
	_, ok := e.bound[s.Placement]
	e.mu.Unlock()
	if !ok {
		return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("report on %q", s.Placement), Detail: "no such task"}
	}
	e.board.Post(s)
	return nil
}
