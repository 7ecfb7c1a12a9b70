package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// TokenRow is a token as it is kept, by ID: without its secret.
type TokenRow struct {
	ID                        string
	Hash                      []byte // of the secret, which no two share
	Tenant, Role, Name        string
	Created, Expires, Revoked int64 // ms since the Unix epoch, 0 = never
}

const selectToken = "SELECT id, hash, tenant, role, name, created, expires, revoked FROM tokens"

// maxDead is how many tokens of a tenant stay listed that are valid no more: its
// later ones.
const maxDead = 1000

// PutToken keeps a new token. It is durable when this returns.
func (s *Store) PutToken(ctx context.Context, t TokenRow) error {
	return failure(fmt.Sprintf("put token %q", t.ID), s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error {
			err := w.exec("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)", t.ID, blob(t.Hash), t.Tenant, t.Role, t.Name, t.Created, t.Expires, t.Revoked)
			if err != nil {
				return err
			}
			return w.exec(`DELETE FROM tokens WHERE id IN (SELECT id FROM tokens
				WHERE tenant = ? AND (revoked > 0 OR expires BETWEEN 1 AND ?) ORDER BY created DESC, id LIMIT -1 OFFSET ?)`, t.Tenant, s.options.Now(), maxDead)
		})
	}))
}

// Token gives one token.
func (s *Store) Token(ctx context.Context, id string) (TokenRow, error) {
	rows, err := s.reads.QueryContext(ctx, selectToken+" WHERE id = ?", id)
	list, err := collect(rows, err, scanToken)
	return first(fmt.Sprintf("token %q", id), list, err)
}

// Tokens lists the tokens of a tenant, "" being those of all, the oldest first.
func (s *Store) Tokens(ctx context.Context, tenant string) ([]TokenRow, error) {
	var where conditions
	if tenant != "" {
		where.add("tenant = ?", tenant)
	}
	rows, err := s.reads.QueryContext(ctx, selectToken+where.String()+" ORDER BY created, id", where.args...)
	list, err := collect(rows, err, scanToken)
	return list, failure("list tokens", err)
}

// RevokeToken ends a token at a time; one that is revoked stays so since when it
// was. It is durable when this returns.
func (s *Store) RevokeToken(ctx context.Context, id string, at int64) error {
	op := fmt.Sprintf("revoke token %q", id)
	if _, err := s.Token(ctx, id); err != nil {
		return failure(op, err)
	}
	return failure(op, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.exec("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked = 0", at, id) })
	}))
}

// DeleteTokens forgets all tokens of a tenant, which may have none.
func (s *Store) DeleteTokens(ctx context.Context, tenant string) error {
	op := fmt.Sprintf("delete the tokens of tenant %q", tenant)
	if tenant == "" {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: "tenant: none, expected one"}
	}
	return failure(op, s.upkeep(ctx, func(w *writer) error {
		return w.transact(func() error { return w.exec("DELETE FROM tokens WHERE tenant = ?", tenant) })
	}))
}

func scanToken(r *sql.Rows, t *TokenRow) error {
	return r.Scan(&t.ID, &t.Hash, &t.Tenant, &t.Role, &t.Name, &t.Created, &t.Expires, &t.Revoked)
}
