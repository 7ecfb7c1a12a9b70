package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
	"github.com/poise-sched/poise/host/telemetry"
)

const (
	// turnCommands and turnWork bound what one turn takes on, so that one batch
	// stays small and a flood of one kind does not starve the other.
	turnCommands = 512
	turnWork     = 256
)

// ledger is the store as the loop writes to it.
type ledger interface {
	Append(b store.Batch) *store.Pending
	Stalled() error
	PutSnapshot(ctx context.Context, seq uint64, body []byte, keep bool) error
}

var _ ledger = (*store.Store)(nil)

// core is what the loop's goroutine owns.
type core struct {
	loop   *loop.Loop
	store  ledger
	lookup lookup
	// cancelled are pods that are there and were cancelled, as far as is known without a
	// look-up.
	cancelled map[poise.JobID]bool
	log       *slog.Logger
	now       func() poise.Time
	newID     func() string // of a job, a gang or an array
	after     func(time.Duration, func())

	commands chan func(*core)
	planned  chan planned
	landed   chan struct{} // a flight has landed; one signal at most
	stopped  chan struct{} // closed when no command is run any more
	flights  *flights
	hands    doer

	batch   store.Batch
	effects []effect
	at      poise.Time // of the last event
	tried   poise.Time // when jobs to plan were looked for last

	jobs    map[poise.JobID]*liveJob
	byPlace map[string]poise.JobID // by placement id
	keys    *keys
	classes *model.Model
	lanes   map[poise.TenantID]*lane
	shadows map[poise.TenantID]*shadow // "" is the cluster's
	slots   chan struct{}              // one token per lane that plans now

	fuel       map[poise.TenantID]*bucket
	tenantFuel func() int64           // per second; nil = no bound
	faulted    func(poise.Activation) // a plugin faulted too often in a row
	// clusterStreak counts the faults in a row of the cluster's plugin.
	clusterStreak int

	retryBase, retryMax time.Duration

	metrics *telemetry.Metrics

	snapshotEvery uint64
	snapshotAt    uint64 // index of the last snapshot
	engines       func(cluster string) binder
	board         *board

	home     *home   // nil: there is no other replica
	mirror   *mirror // of what is at home; nil likewise
	adopting adopting

	says   map[poise.JobID]said // what pods are to say of their waiting, and do not yet
	silent map[poise.JobID]bool // pods that have come and say nothing yet
}

// liveJob is what the daemon knows of a job that waits or runs, beside the state.
type liveJob struct {
	row      store.JobRow
	spec     Spec
	place    store.PlacementRow // no ID while it waits
	engine   binder             // of the placement
	over     *atomic.Bool       // of the placement: it must not be bound any more
	decision *poise.Decision
	unbound  int          // binds in a row that failed
	class    string       // of the node, as of the placement
	stop     string       // why it is to end though it is placed, "" = it is not
	missed   func() error // takes in what became of its pod while it was placed, for when it waits again; nil = nothing
	said     said         // what its pod says of its waiting
}

// planned is work that was planned on another goroutine, and by what.
type planned struct {
	work timed
	lane *lane
}

// run turns until the context ends.
func (c *core) run(ctx context.Context) error {
	defer close(c.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-c.commands:
			f(c)
			c.drain()
		case p := <-c.planned:
			p.lane.back()
			if err := c.settle(p.work); err != nil {
				return err
			}
		case <-c.landed: // there may be room again
		case <-timer.C:
		}
		c.expire()
		more, err := c.decide()
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
	for range turnCommands {
		select {
		case f := <-c.commands:
			f(c)
		default:
			return
		}
	}
}

// tell has the loop run f, unless it has ended.
func (c *core) tell(f func(*core)) {
	select {
	case c.commands <- f:
	case <-c.stopped:
	}
}

// longestSleep bounds the timer: a clock that jumps is noticed by then.
const longestSleep = time.Minute

// sleep is how long the loop may wait for a command.
func (c *core) sleep(more bool) time.Duration {
	if more {
		return 0
	}
	if c.store.Stalled() != nil {
		return time.Second
	}
	if at, ok := c.loop.NextWake(c.tried); ok && !c.flights.full() {
		return min(max(time.Duration(at-c.now())*time.Millisecond, 0), longestSleep)
	}
	return longestSleep
}

// decide plans what may be tried now, and says whether there is more.
func (c *core) decide() (more bool, err error) {
	if c.store.Stalled() != nil || c.flights.full() {
		return false, nil
	}
	for range turnWork {
		if err := c.due(); err != nil {
			return false, err
		}
		c.tried = c.now()
		w := c.loop.Next(c.tried)
		if w == nil {
			return false, nil
		}
		if w.Away {
			c.send(w)
			continue
		}
		if err := c.settle(plan(w)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// send plans on another goroutine, as many at once as there are slots.
func (c *core) send(w *loop.Work) {
	l := c.lanes[poise.TenantID(c.laneOf(w.Job.Tenant))]
	l.out++
	go func() {
		c.slots <- struct{}{}
		w := plan(w)
		<-c.slots
		select {
		case c.planned <- planned{w, l}:
		case <-c.stopped:
		}
	}()
}

// settle ends a piece of work.
func (c *core) settle(w timed) error {
	s, err := c.loop.Settle(w.Work, c.now(), sched.Full)
	if err == nil && s.Again == nil && !s.Dropped {
		c.show(w.Work, &s)
	}
	for _, body := range s.Events {
		if err := c.event(body); err != nil {
			return err
		}
		c.unreserved(body)
	}
	switch {
	case err != nil:
		return fmt.Errorf("decide about job %q: %w", w.Job.ID, err)
	case s.Again != nil || s.Dropped: // what it cost is paid all the same
		c.charge(poise.TenantID(c.laneOf(w.Job.Tenant)), fuelOf(&s.Decision, ""))
		if s.Again != nil {
			c.send(s.Again)
		}
		return nil
	}
	for _, use := range s.Voided {
		c.charge(poise.TenantID(c.laneOf(w.Job.Tenant)), use.Fuel)
	}
	c.account(c.lanes[poise.TenantID(c.laneOf(w.Job.Tenant))], &s.Decision)
	live := c.jobs[s.Decision.Job]
	live.decision = &s.Decision
	live.row.Attempts++
	c.meterDecision(live, &s.Decision, w.took)
	if s.Decision.Verdict != poise.Placed {
		if reason := c.reason(&s.Decision); live.row.Reason != reason {
			live.row.Reason = reason
			c.keep(live)
		}
		c.tellWaiting(live, &s.Decision)
		return nil
	}
	if s.Members != nil {
		for i := range s.Members[1:] {
			c.charge(poise.TenantID(c.laneOf(w.Job.Tenant)), fuelOf(&s.Members[i+1], ""))
		}
		return c.placeGang(s.Members, w.Index)
	}
	return c.place(live, &s.Decision, w.Index)
}

// event applies an event and adds it to the batch.
func (c *core) event(body poise.Body) error {
	ev := poise.Event{Index: c.loop.State().Index() + 1, At: c.now(), Body: body}
	if err := c.loop.Apply(ev); err != nil {
		return err
	}
	c.mirror.touches(body)
	c.at = ev.At
	entry, err := journal.Encode(ev)
	if err != nil {
		panic(fmt.Sprintf("BUG: an event that applied cannot be written: %v", err))
	}
	c.batch.Records = append(c.batch.Records, store.Record{
		Seq: entry.Index, Kind: entry.Kind, Schema: entry.Schema, At: int64(entry.At), Body: entry.Body,
	})
	return nil
}

// keep adds a job's row to the batch, with the decision where that is not among
// those that placed something.
func (c *core) keep(j *liveJob) {
	j.row.Changed = int64(c.now())
	row := j.row
	if d := j.decision; d != nil && d.Verdict != poise.Placed {
		body, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("BUG: a decision cannot be written: %v", err))
		}
		row.Decision = body
	}
	c.batch.Jobs = append(c.batch.Jobs, row)
}

// then adds an effect to the batch.
func (c *core) then(done func(), late func(error)) {
	c.effects = append(c.effects, effect{done, late})
}

// flush appends the batch.
func (c *core) flush(ctx context.Context) error {
	changes := c.changes()
	if len(c.effects) == 0 && len(changes)+len(c.batch.Records)+len(c.batch.Jobs)+len(c.batch.Placements) == 0 {
		return nil
	}
	c.snapshot(ctx)
	c.flights.add(flight{pending: c.store.Append(c.batch), changes: changes, effects: c.effects})
	c.batch, c.effects = store.Batch{}, nil
	return nil
}

// snapshotHand names what is done for snapshots, one after the other.
const snapshotHand = "snapshot"

// snapshot has the state written down where enough happened since the last time. The
// loop only takes down what it is.
func (c *core) snapshot(ctx context.Context) {
	index := c.loop.State().Index()
	if index < c.snapshotAt+c.snapshotEvery {
		return
	}
	c.snapshotAt = index
	moment := c.loop.State().Moment()
	c.then(func() { c.hands.do(snapshotHand, func() { c.putSnapshot(ctx, moment) }) }, nil)
}

// putSnapshot writes down what the state was, which is durable.
func (c *core) putSnapshot(ctx context.Context, m *state.Moment) {
	body, err := journal.EncodeMoment(m)
	if err == nil {
		err = c.store.PutSnapshot(ctx, m.Index(), body, true)
	}
	if err != nil {
		c.log.Warn("no snapshot", "index", m.Index(), "error", err)
	}
}
