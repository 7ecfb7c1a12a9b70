package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// past is the store as far as earlier states are read back from it.
type past interface {
	Snapshots(ctx context.Context) ([]store.SnapshotInfo, error)
	Snapshot(ctx context.Context, seq uint64) ([]byte, error)
	Read(ctx context.Context, from uint64, f func(store.Record) error) error
}

// baseAt gives the state of the latest snapshot that is not after an index, or
// the state before the first event.
func baseAt(ctx context.Context, s past, index uint64) (*state.State, error) {
	infos, err := s.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	infos = slices.DeleteFunc(infos, func(i store.SnapshotInfo) bool { return i.Seq > index })
	if len(infos) == 0 {
		return state.New(state.Settings{})
	}
	last := infos[len(infos)-1].Seq
	body, err := s.Snapshot(ctx, last)
	if err != nil {
		return nil, err
	}
	st, err := journal.DecodeState(body, state.Settings{})
	if err == nil && st.Index() != last {
		err = &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("index: %d, expected %d", st.Index(), last)}
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", last, err)
	}
	return st, nil
}

// forward applies the events up to an index to a state, and calls after behind
// each.
func forward(ctx context.Context, s past, st *state.State, to uint64, after func(poise.Event) error) error {
	if st.Index() >= to {
		return nil
	}
	err := s.Read(ctx, st.Index()+1, func(rec store.Record) error {
		ev, err := journal.Decode(journal.Entry{Index: rec.Seq, At: poise.Time(rec.At), Kind: rec.Kind, Schema: rec.Schema, Body: rec.Body})
		if err != nil {
			return fmt.Errorf("event %d: %w", rec.Seq, err)
		}
		if err := st.Apply(ev); err != nil {
			return fmt.Errorf("event %d: %w", rec.Seq, err)
		}
		if err := after(ev); err != nil {
			return err
		}
		if rec.Seq >= to {
			return errStop
		}
		return nil
	})
	if err == errStop {
		return nil
	}
	return err
}

// errStop ends a reading that has seen enough.
var errStop = fmt.Errorf("enough")

// stateAt gives the state after the event of an index.
func stateAt(ctx context.Context, s past, index uint64) (*state.State, error) {
	st, err := baseAt(ctx, s, index)
	if err != nil {
		return nil, err
	}
	return st, forward(ctx, s, st, index, func(poise.Event) error { return ctx.Err() })
}

// fileAt gives the snapshot file of an index, 0 = of the last event.
func fileAt(ctx context.Context, s *store.Store, index uint64) ([]byte, error) {
	last := s.Last()
	if index == 0 {
		index = last
	}
	if index > last || last == 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "snapshot", Detail: fmt.Sprintf("index: %d, expected 1 to %d, the last event", index, last)}
	}
	st, err := stateAt(ctx, s, index)
	if err != nil {
		return nil, fmt.Errorf("state after event %d: %w", index, err)
	}
	return snapshot.Encode(ctx, st, s)
}

// SaveSnapshot gives the snapshot file of an index, 0 = of the last event, from
// the store of a data directory, which no daemon may be using.
func SaveSnapshot(ctx context.Context, dataDir string, index uint64) ([]byte, error) {
	s, err := store.Open(ctx, store.Options{Dir: storeDir(dataDir), Now: func() int64 { return int64(now()) }})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return fileAt(ctx, s, index)
}

// Snapshot implements api.Backend. The file is made from what is durable, beside
// the loop, one at a time: each takes as much memory as the state.
func (d *Daemon) Snapshot(ctx context.Context, index uint64) ([]byte, error) {
	d.saving.Lock()
	defer d.saving.Unlock()
	if ctx.Err() != nil {
		return nil, unavailable(ctx)
	}
	return fileAt(ctx, d.store, index)
}
