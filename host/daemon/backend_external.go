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
func (d *Daemon) Assignments(_ context.Context, node string) ([]client.Assignment, error) {
	if _, err := d.board.current.Load().row(node); err != nil {
		return nil, err
	}
	all := []client.Assignment{}
	for _, a := range d.outside.assignments(node) {
		b := &a.binding
		w := client.Assignment{
			Placement: b.Placement, Job: string(b.Job), Name: b.Name, Tenant: string(b.Tenant), Node: b.Node, Devices: b.Devices,
			State: client.Starting, Request: client.Amounts(b.Amounts), Command: b.Command, Env: b.Env, Dir: b.Dir, Stop: a.stop,
		}
		if b.RunTime > 0 {
			w.RunTime = (time.Duration(b.RunTime) * time.Millisecond).String()
		}
		if s, ok := d.outside.board.Get(b.Placement); ok && s.State == engine.Running {
			w.State = client.Running
		}
		all = append(all, w)
	}
	return all, nil
}

// Report implements api.Backend.
func (d *Daemon) Report(_ context.Context, placement string, r client.TaskReport) error {
	s := engine.Status{
		Placement: placement, ExitCode: r.ExitCode, Signal: r.Signal, Detail: r.Detail,
		Started: client.Moment(r.Started), Ended: client.Moment(r.Ended),
	}
	switch r.State {
	case client.Running:
		s.State = engine.Running
	case client.Succeeded:
		s.State = engine.Succeeded
	case client.Failed:
		s.State = engine.Failed
	case client.Lost:
		s.State = engine.Lost
	default:
		return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("report on %q", placement), Detail: fmt.Sprintf("state: %q, expected running, succeeded, failed or lost", r.State)}
	}
	if s.Started == 0 {
		s.Started = now()
	}
	if s.State.Ended() && s.Ended == 0 {
		s.Ended = now()
	}
	return d.outside.report(s)
}
