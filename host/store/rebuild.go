package store

import (
	"context"
	"fmt"
)

// Rebuild makes jobs, placements, decisions and keys anew from the events: what
// project makes of each, Records apart. Rows of events that are cut stay. It is
// one transaction, so either all is new or nothing is. The log waits meanwhile,
// so project changes nothing in the store.
func (s *Store) Rebuild(ctx context.Context, project func(Record) (Batch, error)) error {
	return failure("rebuild history", s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.rebuild(ctx, project) })
	}))
}

func (w *writer) rebuild(ctx context.Context, project func(Record) (Batch, error)) error {
	for _, query := range []string{
		"DELETE FROM keys WHERE job NOT IN (SELECT id FROM jobs WHERE seq <= (SELECT value FROM meta WHERE key = 'cut'))",
		"DELETE FROM placements WHERE decision > (SELECT value FROM meta WHERE key = 'cut')",
		"DELETE FROM decisions WHERE seq > (SELECT value FROM meta WHERE key = 'cut')",
		"DELETE FROM jobs WHERE seq > (SELECT value FROM meta WHERE key = 'cut')",
	} {
		if err := w.exec(query); err != nil {
			return err
		}
	}
	return readEvents(ctx, w.conn, 0, func(r Record) error {
		b, err := project(r)
		if err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		b.Records = nil
		return w.put(&b)
	})
}
