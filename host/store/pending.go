package store

import (
	"context"

	"github.com/poise-sched/poise/host/poise"
)

// Pending is a batch on its way to the disk.
type Pending struct {
	batch Batch
	bytes int
	store *Store
	done  chan struct{}
	err   error // set before done is closed
	told  bool  // Wait has reported a stall; guarded by store.mu
}

// Done is closed once the batch is durable, or never will be.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Err is what became of the batch, nil if it is durable. It is nil before Done
// is closed too.
func (p *Pending) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Wait waits until the batch is durable. When the store is stalled, the first
// Wait says so, with kind Unavailable; the batch stays queued all the same, and
// a further Wait waits for the outcome.
func (p *Pending) Wait(ctx context.Context) error {
	for {
		stalled := p.stall()
		select {
		case <-p.done:
			return p.err
		default:
		}
		select {
		case <-p.done:
			return p.err
		case <-stalled:
			if err := p.tell(); err != nil {
				return err
			}
		case <-ctx.Done():
			return failure("wait for the log", ctx.Err())
		}
	}
}

// stall is closed while the store is stalled; nil if Wait has told of it.
func (p *Pending) stall() <-chan struct{} {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if p.told {
		return nil
	}
	return p.store.stalled
}

// tell gives the reason of the stall, nil if it has just ended.
func (p *Pending) tell() error {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if p.store.cause == nil {
		return nil
	}
	p.told = true
	return &poise.Error{Kind: poise.Unavailable, Op: "append to the log", Detail: "the batch is queued, not yet durable", Err: p.store.cause}
}

func (p *Pending) finish(err error) {
	p.err = err
	p.batch = Batch{} // the caller may keep p
	close(p.done)
}
