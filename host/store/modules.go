package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// ModuleInfo is what there is to know of a module without its bytes.
type ModuleInfo struct {
	Digest string
	At     int64 // ms since the Unix epoch: when it was put first
	Bytes  int64
}

// PutModule keeps the bytes of a plugin by its digest. One that is there stays as
// it is. It is durable when this returns.
func (s *Store) PutModule(ctx context.Context, digest string, body []byte) error {
	op := fmt.Sprintf("put module %s", digest)
	if len(body) > maxModule {
		return &poise.Error{Kind: poise.Limit, Op: op, Detail: fmt.Sprintf("body: %d bytes, expected at most %d", len(body), maxModule)}
	}
	at := s.options.Now()
	return failure(op, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			return w.exec("INSERT INTO modules VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING", digest, at, blob(body))
		})
	}))
}

// maxModule is far above what the verifier takes.
const maxModule = 256 << 20

// Module gives the bytes of a plugin.
func (s *Store) Module(ctx context.Context, digest string) (body []byte, err error) {
	err = s.reads.QueryRowContext(ctx, "SELECT body FROM modules WHERE digest = ?", digest).Scan(&body)
	return body, found("module "+digest, err)
}

// Modules lists the modules, by digest.
func (s *Store) Modules(ctx context.Context) ([]ModuleInfo, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT digest, at, length(body) FROM modules ORDER BY digest")
	infos, err := collect(rows, err, func(r *sql.Rows, i *ModuleInfo) error { return r.Scan(&i.Digest, &i.At, &i.Bytes) })
	return infos, failure("list modules", err)
}

// DeleteModule removes a module. One that is not there is fine.
func (s *Store) DeleteModule(ctx context.Context, digest string) error {
	return failure("delete module "+digest, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.exec("DELETE FROM modules WHERE digest = ?", digest) })
	}))
}
