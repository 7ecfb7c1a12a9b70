package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// Assignments implements api.Backend.
func (d *Daemon) Assignments(ctx context.Context, node string, seen uint64, wait time.Duration) (client.Assignments, error) {
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		if _, err := d.board.current.Load().row(node); err != nil {
			return client.Assignments{}, err
		}
		tasks, revision, news := d.outside.assignments(node)
		if revision != seen || wait == 0 {
			return client.Assignments{Revision: revision, Assignments: d.assignmentViews(tasks)}, nil
		}
		select {
		case <-news:
		case <-late.C:
			wait = 0
		case <-d.core.stopped:
			return client.Assignments{}, stopping()
		case <-ctx.Done():
			return client.Assignments{}, unavailable(ctx)
		}
	}
}

// assignmentViews gives tasks as they go over the wire.
func (d *Daemon) assignmentViews(tasks []assigned) []client.Assignment {
	all := make([]client.Assignment, len(tasks))
	for i, a := range tasks {
		b := &a.binding
		w := client.Assignment{
			Placement: b.Placement, Job: string(b.Job), Name: b.Name, Tenant: string(b.Tenant), Node: b.Node, Devices: b.Devices,
			State: client.Starting, Acknowledged: a.acknowledged, Request: client.Amounts(b.Amounts), Command: b.Command, Env: b.Environ(), Dir: b.Dir, Stop: a.stop,
		}
		if b.RunTime > 0 {
			w.RunTime = (time.Duration(b.RunTime) * time.Millisecond).String()
		}
		if s, ok := d.outside.board.Get(b.Placement); ok && s.State == engine.Running {
			w.State = client.Running
		}
		all[i] = w
	}
	return all
}

// Report implements api.Backend.
func (d *Daemon) Report(_ context.Context, placement string, r client.TaskReport) error {
	s := engine.Status{
		Placement: placement, ExitCode: r.ExitCode, Signal: r.Signal, Detail: r.Detail,
		Started: client.Moment(r.Started), Ended: client.Moment(r.Ended),
	}
	switch r.State {
	case client.Starting:
		return d.outside.report(engine.Status{Placement: placement, State: engine.Starting})
	case client.Running:
		s.State = engine.Running
	case client.Succeeded:
		s.State = engine.Succeeded
	case client.Failed:
		s.State = engine.Failed
	case client.Lost:
		s.State = engine.Lost
	default:
		return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("report on %q", placement), Detail: fmt.Sprintf("state: %q, expected starting, running, succeeded, failed or lost", r.State)}
	}
	if s.Started == 0 {
		s.Started = now()
	}
	if s.State.Ended() && s.Ended == 0 {
		s.Ended = now()
	}
	return d.outside.report(s)
}
