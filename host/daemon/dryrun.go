package daemon

import (
	"context"
	"sync"

	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// dryRuns plan jobs that are not submitted, beside the loop where a plugin takes
// part, on a policy of their own: neither the loop nor a tenant's lane waits.
type dryRuns struct {
	mu    sync.Mutex
	lanes map[poise.TenantID]*dryLane // guarded by mu
	uses  int                         // guarded by mu
}

// maxDryLanes bounds the policies that are kept ready: each has its instances.
const maxDryLanes = 16

// dryLane is a tenant's policy for dry runs, "" for that of the cluster. Whoever
// has put something into busy owns the rest.
type dryLane struct {
	busy chan struct{}
	used int // guarded by dryRuns.mu

	of       inForce
	stack    *stack.Stack // nil before the first
	pipeline *sched.Pipeline
	classes  *model.Model
}

// inForce is what a policy was built of. Each activation is a value of its own,
// which never changes.
type inForce struct {
	scheduler    *poise.Scheduler
	cluster, own *poise.Activation
}

// draft is a job to be planned, and what it is planned on.
type draft struct {
	jobs     []*state.Job // one, or the members of a gang
	snap     *state.Snapshot
	policies *state.Policies
	classes  *model.Model
	at       poise.Time
	bars     []sched.Bar
}

// try plans a job, or the members of a gang, on the state as it is now. One decision
// speaks for a gang that is not placed.
func (d *Daemon) try(ctx context.Context, jobs ...*poise.Job) (decisions []poise.Decision, at poise.Time, err error) {
	var lane poise.TenantID
	away := false
	err = d.do(ctx, func(c *core) error {
		lane = poise.TenantID(c.laneOf(jobs[0].Tenant))
		if away = c.lanes[lane].away; away {
			return nil
		}
		at = c.now()
		drafts, err := draftAll(c.loop.State(), jobs, at)
		if err == nil {
			decisions, err = c.try(drafts, at)
		}
		return err
	})
	if err != nil || !away {
		return decisions, at, err
	}
	l, err := d.dry.enter(ctx, lane)
	if err != nil {
		return nil, at, err
	}
	defer d.dry.leave(l)
	var on draft
	err = d.do(ctx, func(c *core) (err error) {
		s := c.loop.State()
		on = draft{snap: s.Snapshot(), policies: s.Policies(), classes: c.classes, at: c.now()}
		if on.jobs, err = draftAll(s, jobs, on.at); err == nil {
			ask := on.jobs[0]
			if len(on.jobs) > 1 {
				ask = state.Sum(starters(on.jobs))
			}
			on.bars = loop.Bars(s, on.snap, ask, on.at)
		}
		return err
	})
	if err == nil {
		decisions, err = d.planBeside(ctx, l, lane, &on)
	}
	return decisions, on.at, err
}

// planBeside plans a draft. It takes one of the slots that lanes plan in.
func (d *Daemon) planBeside(ctx context.Context, l *dryLane, tenant poise.TenantID, on *draft) ([]poise.Decision, error) {
	if err := l.follow(ctx, d.builder, tenant, on); err != nil {
		return nil, err
	}
	select {
	case d.core.slots <- struct{}{}:
		defer func() { <-d.core.slots }()
	case <-ctx.Done():
		return nil, unavailable(ctx)
	}
	decisions, err := planOn(l.pipeline, on)
	var fuel int64
	for i := range decisions {
		fuel += fuelOf(&decisions[i], "")
	}
	d.core.tell(func(c *core) { c.charge(tenant, fuel) })
	return decisions, err
}

// follow makes the lane that of the policies of a draft.
func (l *dryLane) follow(ctx context.Context, b *stack.Builder, tenant poise.TenantID, on *draft) error {
	of := inForce{on.policies.Scheduler(), on.policies.Activation(""), on.policies.Activation(tenant)}
	if l.stack == nil || l.of != of {
		st, err := b.Build(ctx, on.policies, tenant)
		if err != nil {
			return err
		}
		if l.stack != nil {
			l.stack.Close()
		}
		l.of, l.stack, l.pipeline, l.classes = of, st, sched.NewPipeline(st.Policy), nil
	}
	if on.classes != nil && l.classes != on.classes {
		l.classes = on.classes
		l.pipeline.UseIndex(model.NewClassIndex(on.classes))
	}
	return nil
}

// enter gives the lane of a tenant once nobody else is in it.
func (r *dryRuns) enter(ctx context.Context, tenant poise.TenantID) (*dryLane, error) {
	for {
		l := r.lane(tenant)
		select {
		case l.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, unavailable(ctx)
		}
		r.mu.Lock()
		still := r.lanes[tenant] == l
		r.mu.Unlock()
		if still {
			return l, nil
		}
		<-l.busy // it was given up meanwhile
	}
}

// leave lets others in. While all were in use there may have come to be too many.
func (r *dryRuns) leave(l *dryLane) {
	<-l.busy
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(r.lanes) + 1; n > len(r.lanes) && len(r.lanes) > maxDryLanes; {
		n = len(r.lanes)
		r.drop()
	}
}

// lane gives the lane of a tenant. Where it is one too many, the one that was
// used longest ago and is free now goes.
func (r *dryRuns) lane(tenant poise.TenantID) *dryLane {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uses++
	l := r.lanes[tenant]
	if l == nil {
		if r.lanes == nil {
			r.lanes = map[poise.TenantID]*dryLane{}
		}
		if len(r.lanes) >= maxDryLanes {
			r.drop()
		}
		l = &dryLane{busy: make(chan struct{}, 1)}
		r.lanes[tenant] = l
	}
	l.used = r.uses
	return l
}

// drop gives up one lane, if one is free. It is called with mu held.
func (r *dryRuns) drop() {
	var oldest poise.TenantID
	var found *dryLane
	for id, l := range r.lanes {
		if len(l.busy) == 0 && (found == nil || l.used < found.used) {
			oldest, found = id, l
		}
	}
	if found == nil {
		return
	}
	select {
	case found.busy <- struct{}{}:
	default:
		return // somebody has just entered
	}
	delete(r.lanes, oldest)
	found.close()
	<-found.busy
}

func (l *dryLane) close() {
	if l.stack != nil {
		l.stack.Close()
		l.stack = nil
	}
}

// close gives up all lanes, once nobody is in them.
func (r *dryRuns) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		l.busy <- struct{}{}
		l.close()
		<-l.busy
	}
	clear(r.lanes)
}
