package daemon

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

const (
	// retainEvery is how often what is beyond the retention is cut.
	retainEvery = time.Hour
	// replaySnapshots is how many snapshots are kept to replay from. Events are
	// kept back to the earliest of them.
	replaySnapshots = 16
	// auditAge is how long it is kept who changed what.
	auditAge = 365 * 24 * time.Hour
)

// retention gives what history stays: finished jobs and what belongs to them as
// configured, and events back to the earliest snapshot, or for longer while they
// are few: where no snapshot can be used the log is the last resort.
func retention(c *config.Config) store.Retention {
	age := c.Store.Retention.Milliseconds()
	return store.Retention{
		Snapshots: store.Keep{Age: age, Count: replaySnapshots},
		Events:    store.Keep{Age: age, Count: replaySnapshots * c.Store.SnapshotEvery},
		Jobs:      store.Keep{Age: age, Count: c.Store.History},
		Keys:      store.Keep{Age: age, Count: c.Store.History},
		Audit:     store.Keep{Age: auditAge.Milliseconds()},
		Final:     []string{stateSucceeded, stateFailed, stateLost, stateWithdrawn},
	}
}

// retain cuts what is beyond the retention, now and then, until ctx ends.
func (d *Daemon) retain(ctx context.Context) error {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		began := time.Now()
		err := d.store.Retain(ctx, retention(&d.options.Config.Current().Config))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			d.log.Warn("history is not cut, it is tried again later", "error", err)
		default:
			d.log.Debug("history cut", "took", time.Since(began))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// NeededModules gives the digests of the plugins that may still run, sorted: those
// that the policies now in force or a rollback may call, and those that were in
// force or could be at any event that can still be replayed. Whoever removes
// modules leaves these.
func (d *Daemon) NeededModules(ctx context.Context) ([]string, error) {
	now, err := d.inForce(ctx)
	if err != nil {
		return nil, err
	}
	needed, err := replayableModules(ctx, d.store)
	if err != nil {
		return nil, err
	}
	needed = append(needed, snapshot.Digests(now)...)
	slices.Sort(needed)
	return slices.Compact(needed), nil
}

// replayableModules gives the digests that the earliest snapshot and the events
// behind it name. A decision that can be made again was made in between.
func replayableModules(ctx context.Context, s past) ([]string, error) {
	infos, err := s.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	from := uint64(1)
	if len(infos) > 0 {
		from = infos[0].Seq + 1
		body, err := s.Snapshot(ctx, infos[0].Seq)
		if err != nil {
			return nil, err
		}
		// The policies alone: a fleet is a large text, and nothing of it counts.
		var image struct {
			State struct{ Policies state.PoliciesImage }
		}
		if err := json.Unmarshal(body, &image); err != nil {
			return nil, err
		}
		for i := range image.State.Policies.Activations {
			all = append(all, image.State.Policies.Activations[i].Digest)
		}
	}
	set := poise.PolicySet{}.EventKind()
	err = s.Read(ctx, from, func(r store.Record) error {
		if r.Kind != set {
			return ctx.Err()
		}
		ev, err := journal.Decode(journal.Entry{Index: r.Seq, At: poise.Time(r.At), Kind: r.Kind, Schema: r.Schema, Body: r.Body})
		if err != nil {
			return err
		}
		if b, ok := ev.Body.(poise.PolicySet); ok {
			all = append(all, b.Activation.Digest)
		}
		return nil
	})
	return all, err
}
