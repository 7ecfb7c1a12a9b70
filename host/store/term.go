package store

import (
	"context"
	"database/sql"
	"errors"
)

// Term gives the number of the lead under which the store was written last, 0 where
// its owner has always been alone.
func (s *Store) Term(ctx context.Context) (n int64, err error) {
	err = s.reads.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'term'").Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, failure("read the term", err)
}

// SetTerm says under which lead the store is written from now on.
func (s *Store) SetTerm(ctx context.Context, n int64) error {
	return failure("set the term", s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			return w.exec("INSERT INTO meta VALUES ('term', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", n)
		})
	}))
}
