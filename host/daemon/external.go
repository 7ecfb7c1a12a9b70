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

	mu       sync.Mutex
	bound    map[string]assigned // by placement; guarded by mu
	rosters  map[string]roster   // by node; guarded by mu
	revision uint64              // of the latest change; guarded by mu
}

// assigned is a task of an executor.
type assigned struct {
	binding      engine.Binding
	acknowledged bool
	stop         bool
}

// roster is the list of a node's tasks as its executor sees it.
type roster struct {
	revision uint64        // of its last change
	news     chan struct{} // closed at the next change
}

var _ engine.Engine = (*external)(nil)

// newExternal gives an engine without tasks. Its revisions begin at the clock, so
// that none of an earlier daemon is taken for one of its own.
func newExternal() *external {
	return &external{bound: map[string]assigned{}, rosters: map[string]roster{}, revision: uint64(now())}
}

// changed tells who watches the tasks of a node; the lock is held.
func (e *external) changed(node string) {
	close(e.roster(node).news)
	e.revision++
	e.rosters[node] = roster{e.revision, make(chan struct{})}
}

// roster gives a node's; the lock is held.
func (e *external) roster(node string) roster {
	r, ok := e.rosters[node]
	if !ok {
		r = roster{e.revision, make(chan struct{})}
		e.rosters[node] = r
	}
	return r
}

// Bind implements engine.Engine.
func (e *external) Bind(_ context.Context, b engine.Binding) error {
	e.board.Add(engine.Status{Placement: b.Placement, State: engine.Starting})
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.bound[b.Placement]; !ok {
		e.bound[b.Placement] = assigned{binding: b}
		e.changed(b.Node)
	}
	return nil
}

// Evict implements engine.Engine: the executor is told to end the task.
func (e *external) Evict(_ context.Context, placement string, _ poise.Span) error {
	return e.update("evict", placement, func(a *assigned) { a.stop = true })
}

// update changes a task.
func (e *external) update(op, placement string, change func(*assigned)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	was, ok := e.bound[placement]
	if !ok {
		return &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("%s %q", op, placement), Detail: "no such task"}
	}
	is := was
	change(&is)
	if is.stop != was.stop || is.acknowledged != was.acknowledged {
		e.bound[placement] = is
		e.changed(is.binding.Node)
	}
	return nil
}

// Watch implements engine.Engine.
func (e *external) Watch(ctx context.Context, f func(engine.Status)) error {
	return e.board.Watch(ctx, f)
}

// Forget implements engine.Engine.
func (e *external) Forget(_ context.Context, placement string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a, ok := e.bound[placement]; ok {
		delete(e.bound, placement)
		e.changed(a.binding.Node)
	}
	e.board.Drop(placement)
	return nil
}

// assignments lists what the executor of a node is to run, by placement, with the
// revision of the list and what is closed at the next.
func (e *external) assignments(node string) ([]assigned, uint64, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []assigned
	for _, a := range e.bound {
		if a.binding.Node == node {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b assigned) int { return cmp.Compare(a.binding.Placement, b.binding.Placement) })
	r := e.roster(node)
	return all, r.revision, r.news
}

// report takes in what an executor says; a repetition changes nothing. Whatever it
// says of a task, it has it.
func (e *external) report(s engine.Status) error {
	err := e.update("report on", s.Placement, func(a *assigned) { a.acknowledged = true })
	if err == nil {
		e.board.Post(s)
	}
	return err
}
