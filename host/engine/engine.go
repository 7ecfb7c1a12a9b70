package engine

import (
	"context"

	"github.com/poise-sched/poise/host/poise"
)

// Engine runs tasks. All methods may be called at the same time.
type Engine interface {
	// Bind has the task started. It returns once the binding cannot get lost
	// any more; what becomes of the task is told by Watch. A placement that is
	// known is not started again, whatever else the binding says.
	Bind(ctx context.Context, b Binding) error

	// Evict ends a task: TERM, and KILL when the grace is over; with no grace,
	// KILL at once. It does not wait for the end. A task that has ended is left
	// alone; a placement that is not known is NotFound.
	Evict(ctx context.Context, placement string, grace poise.Span) error

	// Watch calls f with the status of every known placement, by name, and then
	// with every change, one call at a time, until ctx ends. It returns ctx's
	// error. Several may watch.
	Watch(ctx context.Context, f func(Status)) error

	// Forget lets go of a task whose end is on durable record elsewhere. A task
	// that has not ended is a Conflict; a placement that is not known is fine.
	// A forgotten placement must never be bound again: nothing is left that
	// could tell that it ran.
	Forget(ctx context.Context, placement string) error
}
