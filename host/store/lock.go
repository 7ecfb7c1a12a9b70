package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Names within the directory of a store. The lock is an empty database of its
// own: SQLite then locks the same way on every system, in one process as
// between two, and a killed holder leaves nothing behind.
const (
	lockFile = "lock.db"
	pidFile  = "pid"
)

// lock is the right to use one directory.
type lock struct {
	db   *sql.DB
	conn *sql.Conn
}

// acquire takes the directory, or says who has it.
func acquire(ctx context.Context, dir string) (*lock, error) {
	name := filepath.Join(dir, lockFile)
	if err := makeFile(name); err != nil {
		return nil, err
	}
	db, err := database(name, "busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	l := &lock{db: db}
	if err := l.take(ctx); err != nil {
		err = errors.Join(err, l.release())
		if code(err) == sqliteBusy {
			return nil, &poise.Error{Kind: poise.Conflict, Detail: "dir: in use by " + holder(dir) + ", expected no other daemon on it"}
		}
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

func (l *lock) take(ctx context.Context) (err error) {
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	_, err = l.conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	return err
}

// release lets the next one in. The name of the holder stays until then.
func (l *lock) release() error {
	var err error
	if l.conn != nil {
		err = l.conn.Close()
	}
	return errors.Join(err, l.db.Close())
}

// holder names the process that wrote the pid file.
func holder(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, pidFile))
	pid, numErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || numErr != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
