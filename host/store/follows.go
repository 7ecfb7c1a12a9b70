package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Follow is a cluster that is kept equal to an inventory file, by Cluster.
type Follow struct {
	Cluster string
	Path    string
}

// PutFollow remembers the file that a cluster follows, in place of one before.
// It is durable when this returns.
func (s *Store) PutFollow(ctx context.Context, f Follow) error {
	return failure(fmt.Sprintf("put follow of cluster %q", f.Cluster), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			return w.exec("INSERT INTO follows VALUES (?, ?) ON CONFLICT (cluster) DO UPDATE SET path = excluded.path", f.Cluster, f.Path)
		})
	}))
}

// DeleteFollow forgets that a cluster follows a file. One that follows none is
// fine.
func (s *Store) DeleteFollow(ctx context.Context, cluster string) error {
	return failure(fmt.Sprintf("delete follow of cluster %q", cluster), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.exec("DELETE FROM follows WHERE cluster = ?", cluster) })
	}))
}

// Follows lists what clusters follow, by cluster.
func (s *Store) Follows(ctx context.Context) ([]Follow, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT cluster, path FROM follows ORDER BY cluster")
	list, err := collect(rows, err, func(r *sql.Rows, f *Follow) error { return r.Scan(&f.Cluster, &f.Path) })
	return list, failure("list follows", err)
}
