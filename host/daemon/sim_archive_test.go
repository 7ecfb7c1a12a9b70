package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/store"
)

// archive is a store in memory: what is in it is durable.
type archive struct {
	records   []store.Record
	jobs      map[string]store.JobRow
	places    map[string]map[string]store.PlacementRow // by job and id
	snapshots map[uint64][]byte
	queued    []store.Batch // appended and not durable
	stalled   error
}

var (
	_ ledger  = (*archive)(nil)
	_ history = (*archive)(nil)
)

func newArchive() *archive {
	return &archive{jobs: map[string]store.JobRow{}, places: map[string]map[string]store.PlacementRow{}, snapshots: map[uint64][]byte{}}
}

// Append queues a batch; what is given is only to be passed on.
func (a *archive) Append(b store.Batch) *store.Pending {
	a.queued = append(a.queued, b)
	return nil
}

func (a *archive) Stalled() error { return a.stalled }

func (a *archive) PutSnapshot(_ context.Context, seq uint64, body []byte, _ bool) error {
	if seq > uint64(len(a.records)) {
		return fmt.Errorf("snapshot %d of %d records", seq, len(a.records))
	}
	a.snapshots[seq] = body
	return nil
}

func (a *archive) Snapshots(context.Context) ([]store.SnapshotInfo, error) {
	var all []store.SnapshotInfo
	for _, seq := range slices.Sorted(maps.Keys(a.snapshots)) {
		all = append(all, store.SnapshotInfo{Seq: seq})
	}
	return all, nil
}

func (a *archive) Snapshot(_ context.Context, seq uint64) ([]byte, error) {
	return a.snapshots[seq], nil
}

func (a *archive) Read(_ context.Context, from uint64, f func(store.Record) error) error {
	for _, r := range a.records[from-1:] {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) Unfinished(_ context.Context, states ...string) (jobs []store.JobRow, open []store.PlacementRow, _ error) {
	for id, row := range a.jobs {
		if !slices.Contains(states, row.State) {
			continue
		}
		jobs = append(jobs, row)
		for _, p := range a.places[id] {
			if p.Ended == 0 {
				open = append(open, p)
			}
		}
	}
	return jobs, open, nil
}

// land makes the first batch durable, or says what is wrong with it.
func (a *archive) land() error {
	b := a.queued[0]
	a.queued = a.queued[1:]
	for _, r := range b.Records {
		if r.Seq != uint64(len(a.records))+1 {
			return fmt.Errorf("event %d after %d", r.Seq, len(a.records))
		}
		a.records = append(a.records, r)
	}
	for _, row := range b.Jobs {
		if old, ok := a.jobs[row.ID]; ok && ended(old.State) {
			return fmt.Errorf("job %s: %s, after its end: %s (%s)", row.ID, row.State, old.State, old.Reason)
		}
		a.jobs[row.ID] = row
	}
	for _, row := range b.Placements {
		if a.places[row.Job] == nil {
			a.places[row.Job] = map[string]store.PlacementRow{}
		}
		if old := a.places[row.Job][row.ID]; old.Ended > 0 {
			return fmt.Errorf("placement %s: %s, after its end: %s", row.ID, row.State, old.State)
		}
		a.places[row.Job][row.ID] = row
	}
	return nil
}

func ended(s string) bool {
	return s == stateSucceeded || s == stateFailed || s == stateLost || s == stateWithdrawn
}
