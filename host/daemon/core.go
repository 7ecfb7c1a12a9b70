package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/store"
)

const (
	// turnCommands and turnWork bound what one turn takes on, so that one batch
	// stays small and a flood of one kind does not starve the other.
	turnCommands = 512
	turnWork     = 256
)

// core is what the loop's goroutine owns.
type core struct {
	loop  *loop.Loop
	store *store.Store
	log   *slog.Logger
	now   func() poise.Time

	commands chan func(*core)
	deferred []func(*core) // commands that came while a batch waited for room
	planned  chan *loop.Work
	flights  chan flight

	batch   store.Batch
	effects []effect

	jobs    map[poise.JobID]*liveJob
	byPlace map[string]poise.JobID // by placement id
	keys    map[string]keyed       // idempotency keys that are not durable yet
	classes *model.Model

	snapshotEvery uint64
	snapshotAt    uint64 // index of the last snapshot
	engines       func(node string) binder
	board         *board
}

// liveJob is what the daemon knows of a job that waits or runs, beside the state.
type liveJob struct {
	row       store.JobRow
	spec      Spec
	placement string // "" while it waits
	decision  *poise.Decision
	attempts  int
	cancelled bool
}

// effect happens when the batch that it came with is durable. late is told when
// the store stalls; done may still come.
type effect struct {
	done func()
	late func(error)
}

// flight is a batch on its way, with its effects.
type flight struct {
	pending *store.Pending
	effects []effect
}

// run turns until the context ends.
func (c *core) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-c.commands:
			f(c)
			c.drain()
		case w := <-c.planned:
			if err := c.settle(w); err != nil {
				return err
			}
		case <-timer.C:
			c.drain()
		}
		more, err := c.decide(ctx)
		if err != nil {
			return err
		}
		if err := c.flush(ctx); err != nil {
			return err
		}
		c.publish()
		timer.Reset(c.sleep(more))
	}
}

// drain runs the commands that wait already.
func (c *core) drain() {
	deferred := c.deferred
	c.deferred = nil
	for _, f := range deferred {
		f(c)
	}
	for range turnCommands {
		select {
		case f := <-c.commands:
			f(c)
		default:
			return
		}
	}
}

// longestSleep bounds the timer: a clock that jumps is noticed by then.
const longestSleep = time.Minute

// sleep is how long the loop may wait for a command.
func (c *core) sleep(more bool) time.Duration {
	if more || len(c.deferred) > 0 {
		return 0
	}
	if c.store.Stalled() != nil {
		return time.Second
	}
	if at, ok := c.loop.Queue().NextWake(); ok {
		return min(max(time.Duration(at-c.now())*time.Millisecond, 0), longestSleep)
	}
	return longestSleep
}

// decide plans what may be tried now, and says whether there is more.
func (c *core) decide(ctx context.Context) (more bool, err error) {
	if c.store.Stalled() != nil {
		return false, nil
	}
	for range turnWork {
		w, err := c.loop.Next(c.now())
		if err != nil || w == nil {
			return false, err
		}
		if w.Away {
			c.send(ctx, w)
			continue
		}
		w.Plan(sched.Full)
		if err := c.settle(w); err != nil {
			return false, err
		}
	}
	return true, nil
}

// send plans on another goroutine.
func (c *core) send(ctx context.Context, w *loop.Work) {
	go func() {
		w.Plan(sched.Full)
		select {
		case c.planned <- w:
		case <-ctx.Done():
		}
	}()
}

// settle ends a piece of work.
func (c *core) settle(w *loop.Work) error {
	s, err := c.loop.Settle(w, c.now(), sched.Full)
	switch {
	case err != nil:
		return fmt.Errorf("decide about job %q: %w", w.Job.ID, err)
	case s.Again != nil:
		c.send(context.Background(), s.Again)
		return nil
	case s.Dropped:
		return nil
	}
	live := c.jobs[s.Decision.Job]
	live.decision, live.attempts = &s.Decision, live.attempts+1
	if s.Decision.Verdict != poise.Placed {
		if reason := s.Decision.Verdict.String(); live.row.Reason != reason {
			live.row.Reason = reason
			c.keep(live)
		}
		return nil
	}
	return c.place(live, &s.Decision, w.Index)
}

// event applies an event and adds it to the batch.
func (c *core) event(body poise.Body) error {
	ev := poise.Event{Index: c.loop.State().Index() + 1, At: c.now(), Body: body}
	if err := c.loop.Apply(ev); err != nil {
		return err
	}
	entry, err := journal.Encode(ev)
	if err != nil {
		panic(fmt.Sprintf("BUG: an event that applied cannot be written: %v", err))
	}
	c.batch.Records = append(c.batch.Records, store.Record{
		Seq: entry.Index, Kind: entry.Kind, Schema: entry.Schema, At: int64(entry.At), Body: entry.Body,
	})
	return nil
}

// keep adds a job's row to the batch.
func (c *core) keep(j *liveJob) {
	j.row.Changed = int64(c.now())
	c.batch.Jobs = append(c.batch.Jobs, j.row)
}

// then adds an effect to the batch.
func (c *core) then(done func(), late func(error)) {
	c.effects = append(c.effects, effect{done, late})
}

// flush appends the batch.
func (c *core) flush(ctx context.Context) error {
	if len(c.effects) == 0 && len(c.batch.Records)+len(c.batch.Jobs)+len(c.batch.Placements) == 0 {
		return nil
	}
	if err := c.snapshot(ctx); err != nil {
		return err
	}
	f := flight{pending: c.store.Append(c.batch), effects: c.effects}
	c.batch, c.effects = store.Batch{}, nil
	for {
		select {
		case c.flights <- f:
			return nil
		case g := <-c.commands: // effects may wait for room here: never wait for each other
			c.deferred = append(c.deferred, g)
		case <-ctx.Done():
			return nil
		}
	}
}

// snapshot writes the state down where enough happened since the last time.
func (c *core) snapshot(ctx context.Context) error {
	index := c.loop.State().Index()
	if index < c.snapshotAt+c.snapshotEvery {
		return nil
	}
	c.snapshotAt = index
	body, err := journal.EncodeState(c.loop.State())
	if err != nil {
		return fmt.Errorf("write the state down: %w", err)
	}
	c.then(func() {
		if err := c.store.PutSnapshot(ctx, index, body, true); err != nil {
			c.log.Warn("no snapshot", "index", index, "error", err)
		}
	}, nil)
	return nil
}

// land waits for flights and lets their effects happen, in order.
func (c *core) land(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-c.flights:
			if err := f.land(ctx); err != nil {
				return err
			}
			c.board.tell()
		}
	}
}

// land waits until a batch is durable. A stall is told once, and waited out.
func (f *flight) land(ctx context.Context) error {
	for {
		err := f.pending.Wait(ctx)
		switch {
		case err == nil:
			for _, e := range f.effects {
				e.done()
			}
			return nil
		case ctx.Err() != nil:
			return nil
		case poise.KindOf(err) != poise.Unavailable:
			return err
		}
		for _, e := range f.effects {
			if e.late != nil {
				e.late(err)
			}
		}
	}
}
