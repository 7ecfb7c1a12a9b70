package store

import (
	"context"
	"database/sql"
	"fmt"
)

// ShadowRow is the plugin that runs beside a tenant's policy, by Tenant; "" is
// the cluster's.
type ShadowRow struct {
	Tenant string
	Body   []byte
}

// PutShadow keeps a shadow in place of one before. It is durable when this
// returns.
func (s *Store) PutShadow(ctx context.Context, r ShadowRow) error {
	at := s.options.Now()
	return failure(fmt.Sprintf("put shadow of tenant %q", r.Tenant), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			return w.exec("INSERT INTO shadows VALUES (?, ?, ?) ON CONFLICT (tenant) DO UPDATE SET at = excluded.at, body = excluded.body", r.Tenant, at, blob(r.Body))
		})
	}))
}

// DeleteShadow forgets the shadow of a tenant, which may have none.
func (s *Store) DeleteShadow(ctx context.Context, tenant string) error {
	return failure(fmt.Sprintf("delete shadow of tenant %q", tenant), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.exec("DELETE FROM shadows WHERE tenant = ?", tenant) })
	}))
}

// Shadows lists the shadows, by tenant.
func (s *Store) Shadows(ctx context.Context) ([]ShadowRow, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT tenant, body FROM shadows ORDER BY tenant")
	list, err := collect(rows, err, func(r *sql.Rows, row *ShadowRow) error { return r.Scan(&row.Tenant, &row.Body) })
	return list, failure("list shadows", err)
}
