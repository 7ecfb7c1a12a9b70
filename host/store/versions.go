package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// VersionRow is one version of a plugin: a name for a module, for good.
type VersionRow struct {
	Tenant, Plugin, Version string // tenant "" = of all tenants
	Digest                  string // of the module
	At                      int64  // ms since the Unix epoch
	By                      string
	Signature               []byte // in minisign's format, empty = none
	Body                    []byte // what the one who pushed it was told
}

// TagRow is a name for a module that may be given to another later.
type TagRow struct {
	Tenant, Plugin, Tag string
	Digest              string
	At                  int64 // ms since the Unix epoch
}

// PutVersion keeps a version and its module, and gives it a tag unless that is
// "". A version that is there with the same digest stays as it is; with another
// it is a Conflict. It is durable when this returns.
func (s *Store) PutVersion(ctx context.Context, v VersionRow, module []byte, tag string) error {
	op := fmt.Sprintf("put version %s of plugin %q", v.Version, v.Plugin)
	if len(module) > maxModule {
		return &poise.Error{Kind: poise.Limit, Op: op, Detail: fmt.Sprintf("module: %d bytes, expected at most %d", len(module), maxModule)}
	}
	return failure(op, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			var was string
			err := w.conn.QueryRowContext(ctx, "SELECT digest FROM versions WHERE tenant = ? AND plugin = ? AND version = ?", v.Tenant, v.Plugin, v.Version).Scan(&was)
			switch {
			case err == nil && was != v.Digest:
				return &poise.Error{Kind: poise.Conflict, Detail: fmt.Sprintf("digest: %s, expected %s: a version stays what it is, give the module another one", v.Digest, was)}
			case err != nil && !errors.Is(err, sql.ErrNoRows):
				return err
			case err != nil:
				if err := w.exec("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", v.Tenant, v.Plugin, v.Version, v.Digest, v.At, v.By, blob(v.Signature), blob(v.Body)); err != nil {
					return err
				}
			}
			// Bytes that were lost or harmed are whole again.
			if err := w.exec("INSERT INTO modules VALUES (?, ?, ?) ON CONFLICT (digest) DO UPDATE SET body = excluded.body WHERE body != excluded.body", v.Digest, v.At, blob(module)); err != nil {
				return err
			}
			if tag == "" {
				return nil
			}
			return w.exec("INSERT INTO tags VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, plugin, tag) DO UPDATE SET digest = excluded.digest, at = excluded.at",
				v.Tenant, v.Plugin, tag, v.Digest, v.At)
		})
	}))
}

// Versions lists the versions of a plugin, "" being all plugins, of one tenant,
// the latest of each plugin first.
func (s *Store) Versions(ctx context.Context, tenant, plugin string) ([]VersionRow, error) {
	var where conditions
	where.add("tenant = ?", tenant)
	if plugin != "" {
		where.add("plugin = ?", plugin)
	}
	return s.versions(ctx, where)
}

// AllVersions lists those of all tenants.
func (s *Store) AllVersions(ctx context.Context) ([]VersionRow, error) {
	return s.versions(ctx, conditions{})
}

func (s *Store) versions(ctx context.Context, where conditions) ([]VersionRow, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT tenant, plugin, version, digest, at, by, signature, body FROM versions"+where.String()+
		" ORDER BY tenant, plugin, at DESC, version DESC", where.args...)
	list, err := collect(rows, err, func(r *sql.Rows, v *VersionRow) error {
		return r.Scan(&v.Tenant, &v.Plugin, &v.Version, &v.Digest, &v.At, &v.By, &v.Signature, &v.Body)
	})
	return list, failure("list versions", err)
}

// Tags lists the tags of all plugins of a tenant, by plugin and tag.
func (s *Store) Tags(ctx context.Context, tenant string) ([]TagRow, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT tenant, plugin, tag, digest, at FROM tags WHERE tenant = ? ORDER BY plugin, tag", tenant)
	list, err := collect(rows, err, func(r *sql.Rows, t *TagRow) error { return r.Scan(&t.Tenant, &t.Plugin, &t.Tag, &t.Digest, &t.At) })
	return list, failure("list tags", err)
}

// DeleteVersion forgets a version and the tags of its module. Its module stays.
// One that is not there is fine.
func (s *Store) DeleteVersion(ctx context.Context, tenant, plugin, version string) error {
	return failure(fmt.Sprintf("delete version %s of plugin %q", version, plugin), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			err := w.exec("DELETE FROM tags WHERE tenant = ? AND plugin = ? AND digest IN (SELECT digest FROM versions WHERE tenant = ? AND plugin = ? AND version = ?)",
				tenant, plugin, tenant, plugin, version)
			if err != nil {
				return err
			}
			return w.exec("DELETE FROM versions WHERE tenant = ? AND plugin = ? AND version = ?", tenant, plugin, version)
		})
	}))
}

// DeleteVersions forgets all versions and tags of a tenant.
func (s *Store) DeleteVersions(ctx context.Context, tenant string) error {
	op := fmt.Sprintf("delete the plugins of tenant %q", tenant)
	if tenant == "" {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: "tenant: none, expected one"}
	}
	return failure(op, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			if err := w.exec("DELETE FROM tags WHERE tenant = ?", tenant); err != nil {
				return err
			}
			return w.exec("DELETE FROM versions WHERE tenant = ?", tenant)
		})
	}))
}

// EventsOf gives the events of one kind in their order.
func (s *Store) EventsOf(ctx context.Context, kind string) ([]Record, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT seq, kind, schema, at, body FROM events WHERE kind = ? ORDER BY seq", kind)
	list, err := collect(rows, err, func(r *sql.Rows, rec *Record) error {
		return r.Scan(&rec.Seq, &rec.Kind, &rec.Schema, &rec.At, &rec.Body)
	})
	return list, failure("read events of kind "+kind, err)
}
