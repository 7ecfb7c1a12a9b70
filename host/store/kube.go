package store

import (
	"context"
	"database/sql"
	"fmt"
)

// KubeRow is a Kubernetes cluster that joined, by Cluster. The body says how it is
// reached, and is no secret.
type KubeRow struct {
	Cluster string
	Body    []byte
}

// PutKube keeps how a Kubernetes cluster is reached, in place of what was kept
// before. It is durable when this returns.
func (s *Store) PutKube(ctx context.Context, r KubeRow) error {
	return failure(fmt.Sprintf("put Kubernetes cluster %q", r.Cluster), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			return w.exec("INSERT INTO kubes VALUES (?, ?) ON CONFLICT (cluster) DO UPDATE SET body = excluded.body", r.Cluster, blob(r.Body))
		})
	}))
}

// DeleteKube forgets a Kubernetes cluster, which may not be known.
func (s *Store) DeleteKube(ctx context.Context, cluster string) error {
	return failure(fmt.Sprintf("delete Kubernetes cluster %q", cluster), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.exec("DELETE FROM kubes WHERE cluster = ?", cluster) })
	}))
}

// Kubes lists the Kubernetes clusters that joined, by cluster.
func (s *Store) Kubes(ctx context.Context) ([]KubeRow, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT cluster, body FROM kubes ORDER BY cluster")
	list, err := collect(rows, err, func(r *sql.Rows, row *KubeRow) error { return r.Scan(&row.Cluster, &row.Body) })
	return list, failure("list Kubernetes clusters", err)
}
