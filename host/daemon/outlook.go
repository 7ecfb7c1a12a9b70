package daemon

import (
	"context"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/loop"
	"github.com/poise-sched/poise/host/outlook"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sim"
	"github.com/poise-sched/poise/host/state"
)

// Bounds of an outlook, and how long one on what waits is told again.
const (
	outlookTime     = 5 * time.Second
	outlookHorizon  = poise.Span(7 * 24 * 60 * 60 * 1000)
	outlookAttempts = 50_000
	outlookAge      = poise.Time(5000)
)

// outlooks look ahead beside the loop, one at a time, as each takes a copy of the
// state.
type outlooks struct {
	turn chan struct{}    // whoever has put something in it owns the rest
	last *outlook.Outlook // on what waits
}

// enter waits for the turn.
func (o *outlooks) enter(ctx context.Context) error {
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unavailable(ctx)
	}
}

func (o *outlooks) leave() { <-o.turn }

// look runs the loop forward on a copy of the state as it is now, with what prepare
// adds to it, for a tenant, "" = an operator. What its policy uses is paid from its
// bucket, and no policy may use more than a bucket holds: while its own rests, a
// tenant is refused. Whoever calls has the turn.
func (d *Daemon) look(ctx context.Context, tenant poise.TenantID, prepare func(*outlook.Fork) error) (*outlook.Outlook, error) {
	if reason := d.core.board.rests.reason(tenant, d.core.now()); reason != "" {
		return nil, &poise.Error{Kind: poise.Unavailable, Op: "look ahead", Detail: reason}
	}
	var moment *state.Moment
	var from *loop.Progress
	var settings loop.Settings
	var now poise.Time
	err := d.do(ctx, func(c *core) error {
		moment, from, settings, now = c.loop.State().Moment(), c.loop.Progress(), c.loop.Settings(), c.now()
		return nil
	})
	if err != nil {
		return nil, err
	}
	s, err := state.FromImage(moment.Image(), state.Settings{})
	if err != nil {
		return nil, err
	}
	f, err := outlook.Open(ctx, d.builder, s, from, now, settings)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer func() {
		fuel := f.Fuel(tenant)
		d.core.tell(func(c *core) { c.charge(tenant, fuel) })
	}()
	if err := prepare(f); err != nil {
		return nil, err
	}
	return f.Run(sim.Bounds{Horizon: outlookHorizon, Attempts: outlookAttempts, Stop: func() bool { return ctx.Err() != nil }}, d.core.tenantFuel())
}

// expected says when a job that waits is expected to start, nil where that takes too
// long to tell.
func (d *Daemon) expected(ctx context.Context, id poise.JobID, viewer poise.TenantID) *client.Expectation {
	ctx, stop := context.WithTimeout(ctx, outlookTime)
	defer stop()
	if d.outlooks.enter(ctx) != nil {
		return nil
	}
	defer d.outlooks.leave()
	if o := d.outlooks.last; o != nil && d.core.now()-o.From < outlookAge && d.core.now() >= o.From {
		if x := o.Of(id, viewer); x != nil {
			return x
		}
	}
	o, err := d.look(ctx, viewer, func(*outlook.Fork) error { return nil })
	if err != nil {
		d.log.Debug("no outlook", "error", err)
		return nil
	}
	d.outlooks.last = o
	return o.Of(id, viewer)
}

// PlanAll implements api.Backend.
func (d *Daemon) PlanAll(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec) (client.Outlook, error) {
	ctx, stop := context.WithTimeout(ctx, outlookTime)
	defer stop()
	if err := d.outlooks.enter(ctx); err != nil {
		return client.Outlook{}, err
	}
	defer d.outlooks.leave()
	o, err := d.look(ctx, tenant, func(f *outlook.Fork) error {
		for i := range specs {
			read, err := api.ParseJob(specs[i])
			if err != nil {
				return err
			}
			j := read.Job
			j.Tenant = tenant
			if err := f.Submit(ctx, d.builder, j, read.Task.After); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return client.Outlook{}, err
	}
	return o.Own(tenant), nil
}
