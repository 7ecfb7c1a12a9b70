package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

// recovered is what a daemon starts from.
type recovered struct {
	state    *state.State
	snapshot uint64 // index of the snapshot that it was read from
	jobs     map[poise.JobID]*liveJob
	byPlace  map[string]poise.JobID
	classes  *model.Model // nil before the first
}

// restore reads the latest snapshot and the events behind it: the same code that
// made them applies them.
func restore(ctx context.Context, s *store.Store, settings state.Settings) (*recovered, error) {
	r := &recovered{jobs: map[poise.JobID]*liveJob{}, byPlace: map[string]poise.JobID{}}
	seq, body, ok, err := s.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		r.snapshot = seq
		if r.state, err = journal.DecodeState(body, settings); err != nil {
			return nil, fmt.Errorf("snapshot %d: %w", seq, err)
		}
	} else if r.state, err = state.New(settings); err != nil {
		return nil, err
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
func (r *recovered) readJobs(ctx context.Context, s *store.Store) error {
	for _, j := range r.state.All() {
		row, err := s.Job(ctx, string(j.ID))
		if err != nil {
			return err
		}
		live := &liveJob{row: row}
		if err := json.Unmarshal(row.Body, &live.spec); err != nil {
			return fmt.Errorf("job %q: %w", j.ID, err)
		}
		if task := j.Task(); task != nil {
			places, err := s.Placements(ctx, string(j.ID))
			if err != nil {
				return err
			}
			for _, p := range places {
				if p.Placed == int64(task.Placed) && p.Node == row.Node {
					live.placement = p.ID
				}
			}
			if live.placement == "" {
				return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("job %q", j.ID), Detail: "it runs, and the history has no placement of it"}
			}
			r.byPlace[live.placement] = j.ID
		}
		r.jobs[j.ID] = live
	}
	return nil
}
