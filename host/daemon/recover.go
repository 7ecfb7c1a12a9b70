package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// history is the store as recovery reads it.
type history interface {
	Snapshots(ctx context.Context) ([]store.SnapshotInfo, error)
	Snapshot(ctx context.Context, seq uint64) ([]byte, error)
	Read(ctx context.Context, from uint64, f func(store.Record) error) error
	Unfinished(ctx context.Context, states ...string) ([]store.JobRow, []store.PlacementRow, error)
}

var _ history = (*store.Store)(nil)

// recovered is what a daemon starts from.
type recovered struct {
	state    *state.State
	snapshot uint64 // index of the snapshot that it was read from
	jobs     map[poise.JobID]*liveJob
	byPlace  map[string]poise.JobID
	classes  *model.Model // nil before the first
}

// restore reads the latest snapshot and the events behind it: the same code that
// made them applies them. A snapshot that cannot be used is passed over for the
// one before, and the last resort is the whole log.
func restore(ctx context.Context, s history, settings state.Settings, log *slog.Logger) (*recovered, error) {
	infos, err := s.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	var found []error
	for _, info := range slices.Backward(infos) {
		r, err := restoreFrom(ctx, s, info.Seq, settings)
		if err == nil {
			return r, nil
		}
		found = append(found, err)
		if poise.KindOf(err) != poise.Invalid {
			break
		}
		log.Warn("snapshot not used, the one before is tried", "index", info.Seq, "error", err)
	}
	if len(found) < len(infos) { // the fault is not in a snapshot
		return nil, found[len(found)-1]
	}
	r, err := restoreFrom(ctx, s, 0, settings)
	if err != nil {
		return nil, errors.Join(append(found, err)...)
	}
	return r, nil
}

// restoreFrom starts from one snapshot, 0 = from nothing. An Invalid error means
// that the snapshot is at fault.
func restoreFrom(ctx context.Context, s history, snapshot uint64, settings state.Settings) (*recovered, error) {
	r := &recovered{snapshot: snapshot, jobs: map[poise.JobID]*liveJob{}, byPlace: map[string]poise.JobID{}}
	var err error
	if snapshot == 0 {
		r.state, err = state.New(settings)
	} else {
		var body []byte
		if body, err = s.Snapshot(ctx, snapshot); err == nil {
			r.state, err = journal.DecodeState(body, settings)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", snapshot, err)
	}
	if got := r.state.Index(); got != snapshot {
		return nil, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("snapshot %d", snapshot), Detail: fmt.Sprintf("index: %d, expected %d", got, snapshot)}
	}
	err = s.Read(ctx, r.state.Index()+1, func(rec store.Record) error {
		ev, err := journal.Decode(journal.Entry{Index: rec.Seq, At: poise.Time(rec.At), Kind: rec.Kind, Schema: rec.Schema, Body: rec.Body})
		if err != nil {
			return err
		}
		return r.state.Apply(ev)
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if record, ok := r.state.View().Classes().(*model.Record); ok {
		if r.classes, err = model.Restore(*record); err != nil {
			return nil, err
		}
	}
	return r, r.readJobs(ctx, s)
}

// readJobs takes from the history what an engine needs to know of the jobs that
// have not ended.
func (r *recovered) readJobs(ctx context.Context, s history) error {
	rows, open, err := s.Unfinished(ctx, stateWaiting, stateStarting, stateRunning)
	if err != nil {
		return err
	}
	known, places := map[string]*store.JobRow{}, map[string][]store.PlacementRow{}
	for i := range rows {
		known[rows[i].ID] = &rows[i]
	}
	for _, p := range open {
		places[p.Job] = append(places[p.Job], p)
	}
	for _, j := range r.state.All() {
		row := known[string(j.ID)]
		if row == nil {
			return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("job %q", j.ID), Detail: "it waits or runs, and the history has it not so"}
		}
		live := &liveJob{row: *row}
		if err := json.Unmarshal(row.Body, &live.spec); err != nil {
			return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("job %q", j.ID), Err: err}
		}
		if len(row.Decision) > 0 {
			if err := json.Unmarshal(row.Decision, &live.decision); err != nil {
				return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("decision on job %q", j.ID), Err: err}
			}
			live.row.Decision = nil
		}
		if !j.Waiting() {
			last, ok := lastPlace(places[row.ID])
			if !ok || last.Node != row.Node {
				return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("job %q", j.ID), Detail: "it runs, and the history has no placement of it"}
			}
			if live.place = last; stopped(row.Reason) {
				live.stop = row.Reason
			}
			r.byPlace[last.ID] = j.ID
		}
		r.jobs[j.ID] = live
	}
	return nil
}

// lastPlace gives the placement that was made last. Clocks may go back, indexes
// do not.
func lastPlace(places []store.PlacementRow) (store.PlacementRow, bool) {
	if len(places) == 0 {
		return store.PlacementRow{}, false
	}
	return slices.MaxFunc(places, func(a, b store.PlacementRow) int { return cmp.Compare(a.Decision, b.Decision) }), true
}
