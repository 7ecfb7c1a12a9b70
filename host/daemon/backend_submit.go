package daemon

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Submit implements api.Backend.
func (d *Daemon) Submit(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec, key string) ([]client.Job, error) {
	var own []Spec
	for i := range specs {
		s := &specs[i]
		j, err := api.ParseJob(*s)
		if err != nil {
			return nil, err
		}
		if s.Hold {
			j.Held = cmp.Or(s.HeldBy, string(tenant))
		}
		own = append(own, (&Spec{
			Job: j.Job, Command: s.Command, Env: s.Env, Dir: s.Dir, Image: s.Image, After: s.After, AfterAny: s.AfterAny, AfterFailure: s.AfterFailure,
			StartIn: j.StartIn, FinishIn: j.FinishIn,
		}).elements(j.Array)...)
	}
	if err := d.runnable(own); err != nil {
		return nil, err
	}
	if d.home != nil {
		if err := fitsHome(own); err != nil {
			return nil, err
		}
	}
	var hash []byte
	if key != "" {
		hash = specsHash(own)
		d.core.keys.hold(keyOf(tenant, key))
		defer d.core.keys.release(keyOf(tenant, key))
		rows, err := d.known(ctx, tenant, key, hash)
		if rows != nil && d.home != nil { // they may not be at home yet
			err = d.durably(ctx, func(*core) error { return nil })
		}
		if err != nil || rows != nil {
			return d.views(ctx, rows, err)
		}
	}
	if err := d.findAfter(ctx, tenant, own); err != nil {
		return nil, err
	}
	type answer struct {
		rows []store.JobRow
		err  error
	}
	done := make(chan answer, 2)
	err := d.do(ctx, func(c *core) error {
		c.submit(own, tenant, key, hash, func(rows []store.JobRow, err error) { done <- answer{rows, err} })
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case a := <-done:
		return d.views(ctx, a.rows, a.err)
	case <-d.core.stopped:
		return nil, stopping()
	case <-ctx.Done():
		return nil, unavailable(ctx)
	}
}

// runnable refuses a job without a command where only processes are run. Where
// other nodes are there too, it may go to one that needs none.
func (d *Daemon) runnable(specs []Spec) error {
	i := slices.IndexFunc(specs, func(s Spec) bool { return len(s.Command) == 0 && s.Image == "" })
	if i < 0 || d.local == nil {
		return nil
	}
	p := d.board.current.Load()
	for _, row := range p.rowOf {
		if !d.own(p.snap.Cluster(row)) {
			return nil
		}
	}
	return &poise.Error{
		Kind: poise.Invalid, Op: fmt.Sprintf("submit job %q", specs[i].Job.Name),
		Detail: "command: none, expected a program and its arguments, as this machine runs processes and there is no other node; add one, such as -- sleep 60, or join nodes that are simulated",
	}
}

// known gives the jobs that a key stands for, nil where it is new.
func (d *Daemon) known(ctx context.Context, tenant poise.TenantID, key string, hash []byte) ([]store.JobRow, error) {
	var rows []store.JobRow
	for i := 0; ; i++ {
		k, err := d.store.Key(ctx, string(tenant), jobKey(key, i))
		if poise.KindOf(err) == poise.NotFound {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(k.Hash, hash) {
			return nil, keyConflict(key)
		}
		row, err := d.store.Job(ctx, k.Job)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}
