package store

import (
	"context"
	"database/sql"
	"sync"
)

// readers bounds the connections that serve queries at one time.
const readers = 4

// reads are the connections that serve queries. Each query is prepared once: to
// read its text takes longer than to find the row that most are about.
type reads struct {
	*sql.DB
	mu    sync.Mutex
	stmts map[string]*sql.Stmt // closed with the connections
}

var _ querier = (*reads)(nil)

func openReads(name string) (*reads, error) {
	db, err := database(name, waits, "query_only(1)")
	if err != nil {
		return nil, err
	}
	// One connection stays open, so that readers are served while the disk is
	// full and no other could be opened.
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return &reads{DB: db, stmts: map[string]*sql.Stmt{}}, nil
}

// prepared gives the statement of a query. The lock is not held while one is
// prepared, which waits for a connection.
func (r *reads) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := r.known(query, nil); s != nil {
		return s, nil
	}
	s, err := r.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	known := r.known(query, s)
	if known != s {
		_ = s.Close() // somebody else was faster
	}
	return known, nil
}

// known gives the statement of a query; where there is none yet, it becomes s.
func (r *reads) known(query string, s *sql.Stmt) *sql.Stmt {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stmts[query] == nil && s != nil {
		r.stmts[query] = s
	}
	return r.stmts[query]
}

// QueryContext is that of sql.DB.
func (r *reads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := r.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext is that of sql.DB.
func (r *reads) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := r.prepared(ctx, query)
	if err != nil {
		return r.DB.QueryRowContext(ctx, query, args...) // which has the error
	}
	return s.QueryRowContext(ctx, args...)
}
