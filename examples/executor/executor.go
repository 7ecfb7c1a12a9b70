//go:build linux

package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

const (
	// lookEvery is how often the tasks are looked at. Far below what a person
	// notices, and a look costs a few calls of the file system a task.
	lookEvery = 200 * time.Millisecond
	// beatEvery is a third of what the daemon waits before it sends no more tasks.
	beatEvery = 10 * time.Second
	// retryAfter is how long a daemon that does not answer is left alone.
	retryAfter = time.Second
)

// executor runs what the daemon assigns to its node.
type executor struct {
	daemon *client.Client
	node   client.NodeSpec
	shelf  *shelf
	log    *slog.Logger

	mu      sync.Mutex
	trouble string // with the daemon, said already; guarded by mu
}

// run runs until ctx ends. A daemon that is not there is waited for.
func (e *executor) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	lists := make(chan []client.Assignment)
	go func() { cancel(e.watch(ctx, lists)) }()
	go func() { cancel(e.beat(ctx)) }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var assigned []client.Assignment
	for known := false; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case assigned = <-lists:
			known = true
		case <-tick.C:
		}
		for i := range assigned {
			e.look(ctx, &assigned[i])
		}
		if known { // before, nobody can say which tasks are over
			e.shelf.tidy(assigned)
		}
	}
}

// watch hands on every list of what the node is to run.
func (e *executor) watch(ctx context.Context, lists chan<- []client.Assignment) error {
	for seen := uint64(0); ; {
		list, err := e.daemon.NextAssignments(ctx, e.node.Name, seen)
		if poise.KindOf(err) == poise.NotFound { // not joined yet
			err = pause(ctx, lookEvery)
			seen = 0
		} else if err != nil {
			err = e.wait(ctx, err)
		} else if list.Revision != seen {
			seen = list.Revision
			select {
			case lists <- list.Assignments:
			case <-ctx.Done():
			}
		}
		if err != nil || ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// beat joins the node and says that it is there. Where another one joined under
// its name, or it left, it joins again.
func (e *executor) beat(ctx context.Context) error {
	for joined, incarnation := false, uint64(0); ; {
		var err error
		if joined {
			_, err = e.daemon.Heartbeat(ctx, e.node.Name, incarnation)
		} else {
			var n client.Node
			if n, err = e.daemon.JoinNode(ctx, e.node); err == nil {
				joined, incarnation = true, n.Incarnation
				e.log.Info("joined", "node", e.node.Name, "incarnation", incarnation)
			}
		}
		switch kind := poise.KindOf(err); {
		case err == nil:
			err = pause(ctx, beatEvery)
		case joined && (kind == poise.NotFound || kind == poise.Conflict):
			joined, err = false, nil
		case kind == poise.Unavailable || kind == poise.Limit:
			err = e.wait(ctx, err)
		}
		if err != nil {
			return err
		}
	}
}

// look does what there is to be done about one task, and tells the daemon where
// it stands. The daemon takes the same report twice as one.
func (e *executor) look(ctx context.Context, a *client.Assignment) {
	if a.State.Ended() { // told, and not forgotten yet
		return
	}
	t := e.shelf.task(a.Placement)
	now, err := t.status()
	switch {
	case err != nil:
	case now.State == unknown:
		err = e.begin(ctx, a, t)
	case now.State == client.Running && a.Stop:
		err = t.end("cancelled")
	case now.State == client.Running && overTime(a, now.Started):
		err = t.end("run_time: over the limit of " + a.RunTime)
	case now.State != a.State:
		if err = e.daemon.Report(ctx, a.Placement, now); err == nil {
			a.State = now.State // a daemon that forgets it hands out another list
		}
	}
	if err != nil && poise.KindOf(err) != poise.NotFound && ctx.Err() == nil { // not found: it is over
		e.log.Warn("task", "placement", a.Placement, "job", a.Name, "error", err)
	}
}

// begin starts a task that was never started. The daemon is told first that it is
// on disk here: an executor whose disk is lost will not start it again.
func (e *executor) begin(ctx context.Context, a *client.Assignment, t task) error {
	report := client.TaskReport{State: client.Failed, ExitCode: 143}
	switch {
	case a.Stop:
		report.Detail = "stopped before it started"
	case len(a.Command) == 0:
		report.ExitCode, report.Detail = 127, "command: none, expected a program and its arguments"
	case a.Acknowledged && !t.claimed():
		report = client.TaskReport{State: client.Lost, Detail: "the executor has lost what it knew of it"}
	default:
		if err := t.claim(); err != nil {
			return err
		}
		if err := e.daemon.Report(ctx, a.Placement, client.TaskReport{State: client.Starting}); err != nil {
			return err
		}
		e.log.Info("start", "placement", a.Placement, "job", a.Name)
		return t.start(a)
	}
	err := e.daemon.Report(ctx, a.Placement, report)
	if err == nil {
		a.State = report.State
	}
	return err
}

// overTime says whether a task runs longer than its job allows.
func overTime(a *client.Assignment, started time.Time) bool {
	limit, err := time.ParseDuration(a.RunTime)
	return err == nil && !started.IsZero() && time.Since(started) > limit
}

// wait says what the daemon's trouble is, once, and waits for better times.
func (e *executor) wait(ctx context.Context, err error) error {
	e.mu.Lock()
	if text := err.Error(); e.trouble != text && ctx.Err() == nil {
		e.trouble = text
		e.log.Warn("no answer, trying again", "error", err)
	}
	e.mu.Unlock()
	return pause(ctx, retryAfter)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
