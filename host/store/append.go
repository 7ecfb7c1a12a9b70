package store

import (
	"context"
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// Bounds of what becomes durable in one transaction: enough to share the cost
// of a sync, little enough to keep the first of it waiting only briefly. A
// single batch may be larger.
const (
	maxRecords = 1024
	maxBytes   = 16 << 20
)

// Waits between attempts of a stalled store.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Append queues the batch and returns at once. The caller leaves its slices
// alone from then on. A record whose Seq does not follow the last one queued
// fails the batch before anything of it is written. The queue has no bound: a
// caller takes no new work while Stalled gives an error.
func (s *Store) Append(b Batch) *Pending {
	p := &Pending{batch: b, store: s, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admit(p); err != nil {
		p.finish(&poise.Error{Kind: poise.KindOf(err), Op: "append to the log", Err: err})
		return p
	}
	s.tail += uint64(len(b.Records))
	s.queue = append(s.queue, p)
	signal(s.wake)
	return p
}

func (s *Store) admit(p *Pending) error {
	if s.closed {
		return closedError()
	}
	for i := range p.batch.Records {
		if got, want := p.batch.Records[i].Seq, s.tail+1+uint64(i); got != want {
			return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("seq: %d, expected %d", got, want)}
		}
	}
	var ok bool
	if p.bytes, ok = p.batch.size(); !ok {
		return &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("body: too large, expected at most %d bytes", maxBody)}
	}
	return nil
}

func closedError() error {
	return &poise.Error{Kind: poise.Unavailable, Detail: "the store is closed"}
}

// Stalled gives the reason why nothing becomes durable, nil while all is well.
func (s *Store) Stalled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// Kick makes a stalled store try again now.
func (s *Store) Kick() { signal(s.kick) }

// Last is the Seq of the last durable record.
func (s *Store) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durable
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// task is a piece of upkeep that runs between two transactions of the log.
type task struct {
	do   func(*writer) error
	done chan error
}

// upkeep runs do on the connection of the writer. Once begun it is not given
// up, since it may have changed something.
func (s *Store) upkeep(ctx context.Context, do func(*writer) error) error {
	t := &task{do: do, done: make(chan error, 1)}
	select {
	case s.tasks <- t:
		return <-t.done
	case <-s.finished:
		return closedError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the single writer.
func (s *Store) run() {
	defer close(s.finished)
	for {
		select {
		case <-s.wake:
		case t := <-s.tasks:
			t.done <- t.do(s.writer)
		case <-s.quit:
			s.drain()
			s.abandon()
			return
		}
		if !s.drain() {
			s.abandon()
			return
		}
	}
}

// drain makes durable all that waits. It reports false if it had to give up
// because the store closes.
func (s *Store) drain() bool {
	for {
		group := s.take()
		if len(group) == 0 {
			return true
		}
		if !s.persist(group) {
			return false
		}
		select { // upkeep gets its turn under a steady load as well
		case t := <-s.tasks:
			t.done <- t.do(s.writer)
		default:
		}
	}
}

// take gives the batches of the next transaction. They stay in the queue.
func (s *Store) take() []*Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	records, bytes := 0, 0
	for i, p := range s.queue {
		records += max(1, len(p.batch.Records))
		bytes += p.bytes
		if i > 0 && (records > maxRecords || bytes > maxBytes) {
			return s.queue[:i:i]
		}
	}
	return s.queue[:len(s.queue):len(s.queue)]
}

// persist tries until the group is durable; false if the store closes first.
func (s *Store) persist(group []*Pending) bool {
	records := 0
	for _, p := range group {
		records += len(p.batch.Records)
	}
	first := s.Last() + 1
	last := first - 1 + uint64(records)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		began := time.Now()
		err := s.writer.write(group, first, last)
		if err == nil {
			s.observe(group, time.Since(began))
			s.settle(len(group), last)
			return true
		}
		s.stall(failure("write the log", err))
		if !s.pause(wait) {
			return false
		}
	}
}

// observe tells the owner of a transaction.
func (s *Store) observe(group []*Pending, took time.Duration) {
	if s.options.Observe == nil {
		return
	}
	batches := make([]Batch, len(group))
	for i, p := range group {
		batches[i] = p.batch
	}
	s.options.Observe(batches, took)
}

// pause waits for a reason to try again; false if the store closes. Upkeep goes
// on meanwhile, because Retain may be what makes room.
func (s *Store) pause(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case <-s.kick:
			return true
		case t := <-s.tasks:
			t.done <- t.do(s.writer)
		case <-s.quit:
			return false
		}
	}
}

// stall records why an attempt failed and lets those who wait know.
func (s *Store) stall(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		close(s.stalled)
	}
	s.cause = cause
}

// settle removes the first n batches, which are durable, from the queue.
func (s *Store) settle(n int, last uint64) {
	s.mu.Lock()
	group := s.queue[:n]
	s.queue = s.queue[n:]
	s.durable = last
	if s.cause != nil {
		s.cause, s.stalled = nil, make(chan struct{})
	}
	s.mu.Unlock()
	for i, p := range group {
		group[i] = nil // the array is shared with the queue that goes on
		p.finish(nil)
	}
}

// abandon fails what is still queued when the store closes.
func (s *Store) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.queue {
		p.finish(&poise.Error{Kind: poise.Unavailable, Op: "append to the log", Detail: "the store is closed and the batch is not durable", Err: s.cause})
	}
	s.queue = nil
}
