package store

import (
	"context"
	"database/sql"
	"strings"
)

// selectOpen finds placements through their jobs: most of all placements have
// ended, and no index knows which.
const selectOpen = "SELECT p.id, p.job, p.node, p.devices, p.placed, p.started, p.ended, p.state, p.decision, p.exit_code, p.signal, p.detail FROM jobs j JOIN placements p ON p.job = j.id AND p.ended = 0"

// Unfinished gives all jobs in one of the states, in no order that matters, and
// their placements that have not ended, for who takes them up again.
func (s *Store) Unfinished(ctx context.Context, states ...string) ([]JobRow, []PlacementRow, error) {
	const op = "list unfinished jobs"
	among := " WHERE state IN (?" + strings.Repeat(", ?", len(states)-1) + ")"
	args := make([]any, len(states))
	for i, state := range states {
		args[i] = state
	}
	rows, err := s.reads.QueryContext(ctx, selectJob+among, args...)
	jobs, err := collect(rows, err, scanJob)
	if err != nil {
		return nil, nil, failure(op, err)
	}
	rows, err = s.reads.QueryContext(ctx, selectOpen+strings.Replace(among, "state", "j.state", 1), args...)
	open, err := collect(rows, err, scanPlacement)
	return jobs, open, failure(op, err)
}

func scanPlacement(r *sql.Rows, p *PlacementRow) error {
	var devices string
	var decision int64
	err := r.Scan(&p.ID, &p.Job, &p.Node, &devices, &p.Placed, &p.Started, &p.Ended, &p.State, &decision, &p.ExitCode, &p.Signal, &p.Detail)
	if err != nil {
		return err
	}
	p.Decision = uint64(decision)
	p.Devices, err = parseDevices(devices)
	return err
}
