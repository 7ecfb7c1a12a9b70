package daemon

import (
	"context"
	"errors"
	"sync"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// maxFlights is how far the deciding may be ahead of the disk, in batches.
const maxFlights = 64

// effect happens when the batch that it came with is durable, also at home. late is
// told when the store or the home stalls; done may still come.
type effect struct {
	done func()
	late func(error)
}

// flight is a batch on its way, with its effects.
type flight struct {
	pending *store.Pending
	changes []change // of what is at home
	effects []effect
}

// flights are the batches that are not durable yet, in order. They have no bound
// of their own, as the loop must never wait for the disk: who adds to them for
// no client's sake looks at full.
type flights struct {
	mu    sync.Mutex
	queue []flight
	wake  chan struct{} // one signal at most
}

func newFlights() *flights { return &flights{wake: make(chan struct{}, 1)} }

func (f *flights) add(one flight) {
	f.mu.Lock()
	f.queue = append(f.queue, one)
	f.mu.Unlock()
	nudge(f.wake)
}

func (f *flights) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue) >= maxFlights
}

// first gives the flight that lands next, which stays until pop.
func (f *flights) first(ctx context.Context) (flight, bool) {
	for {
		f.mu.Lock()
		if len(f.queue) > 0 {
			defer f.mu.Unlock()
			return f.queue[0], true
		}
		f.mu.Unlock()
		select {
		case <-f.wake:
		case <-ctx.Done():
			return flight{}, false
		}
	}
}

func (f *flights) pop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue[0] = flight{}
	f.queue = f.queue[1:]
}

// land waits for flights and lets their effects happen, in order.
func (c *core) land(ctx context.Context) error {
	for {
		f, ok := c.flights.first(ctx)
		if !ok {
			return nil
		}
		if err := f.land(ctx, c.home); err != nil || ctx.Err() != nil {
			return err
		}
		c.flights.pop()
		nudge(c.landed)
		c.board.tell()
	}
}

// landAll has everything land that was done before the loop runs.
func (c *core) landAll(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	for len(c.flights.queue) > 0 {
		if err := c.flights.queue[0].land(ctx, c.home); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		c.flights.pop()
	}
	return nil
}

// land waits until a batch is durable. A stall is told once, and waited out.
func (f *flight) land(ctx context.Context, h *home) error {
	for {
		err := f.pending.Wait(ctx)
		switch {
		case err == nil:
			if len(f.changes) > 0 {
				if err := h.write(ctx, f.changes, f.late); err != nil || ctx.Err() != nil {
					return err
				}
			}
			for _, e := range f.effects {
				e.done()
			}
			return nil
		case ctx.Err() != nil:
			return nil
		case poise.KindOf(err) != poise.Unavailable, f.pending.Err() != nil:
			return err
		}
		f.late(err)
	}
}

// late tells those who wait for the flight that it is late.
func (f *flight) late(err error) {
	for _, e := range f.effects {
		if e.late != nil {
			e.late(err)
		}
	}
}

// nudge leaves a signal where there is none yet.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
