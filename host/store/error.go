package store

import (
	"context"
	"errors"
	"io/fs"

	"modernc.org/sqlite"

	"github.com/poise-sched/poise/host/poise"
)

// Primary result codes of SQLite; the number is part of its interface.
const (
	sqlitePerm     = 3
	sqliteBusy     = 5
	sqliteLocked   = 6
	sqliteNoMem    = 7
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

// code gives SQLite's primary result code, 0 where err is not of SQLite.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// failure makes err an error that names the operation, and gives it the kind
// that its cause calls for unless it has one.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *poise.Error
	if errors.As(err, &known) {
		return &poise.Error{Kind: known.Kind, Op: op, Err: err}
	}
	e := &poise.Error{Kind: poise.Internal, Op: op, Err: err}
	switch code(err) {
	case sqlitePerm, sqliteBusy, sqliteLocked, sqliteNoMem, sqliteReadOnly, sqliteIOErr, sqliteFull, sqliteCantOpen:
		e.Kind = poise.Unavailable
	case sqliteCorrupt, sqliteNotADB:
		e.Detail = "database: damaged, expected one that SQLite can read; restore a backup into an empty directory"
	case 0:
		var path *fs.PathError
		if errors.As(err, &path) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			e.Kind = poise.Unavailable
		}
	}
	return e
}
