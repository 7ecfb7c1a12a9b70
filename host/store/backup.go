package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/poise"
)

// partial ends the name of a file until all of it is there.
const partial = ".partial"

// Backup writes the store as of now into one file at path, which is not there
// yet. The store goes on meanwhile.
func (s *Store) Backup(ctx context.Context, path string) error {
	op := fmt.Sprintf("back up to %q", path)
	// The name is taken before the work, and is only given to a whole backup: a
	// crash leaves an empty file, which Restore refuses.
	if err := takeName(path); err != nil {
		return failure(op, err)
	}
	err := s.copyTo(ctx, path+partial)
	if err == nil {
		err = os.Rename(path+partial, path)
	}
	if err != nil {
		return errors.Join(failure(op, err), discard(path, path+partial))
	}
	return failure(op, syncDir(filepath.Dir(path)))
}

// takeName makes an empty file of a name that nothing has.
func takeName(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &poise.Error{Kind: poise.Conflict, Detail: fmt.Sprintf("path: %q is there, expected a new name", path)}
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (s *Store) copyTo(ctx context.Context, path string) error {
	if err := discard(path); err != nil { // of a backup that crashed
		return err
	}
	if err := takeName(path); err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	db, err := database(filepath.Join(s.options.Dir, databaseFile), waits)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", abs)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// discard removes the files that are there.
func discard(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := os.Remove(p); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Restore makes a store in dir, which is empty or not there, of a file that
// Backup wrote, once it has checked the whole of it.
func Restore(ctx context.Context, backup, dir string) error {
	op := fmt.Sprintf("restore %q into %q", backup, dir)
	if err := makeDir(dir); err != nil {
		return failure(op, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return failure(op, err)
	}
	if len(entries) > 0 {
		return &poise.Error{Kind: poise.Conflict, Op: op, Detail: fmt.Sprintf("dir: has %q, expected an empty directory", entries[0].Name())}
	}
	l, err := acquire(ctx, dir)
	if err != nil {
		return failure(op, err)
	}
	name := filepath.Join(dir, databaseFile)
	err = copyFile(backup, name+partial)
	if err == nil {
		err = check(ctx, name+partial)
		if c := code(err); c == sqliteCorrupt || c == sqliteNotADB {
			err = damaged(err)
		}
	}
	if err == nil {
		err = os.Rename(name+partial, name)
	}
	if err == nil {
		return failure(op, errors.Join(syncDir(dir), l.release()))
	}
	err = errors.Join(err, l.release())
	return errors.Join(failure(op, err), discard(name+partial, filepath.Join(dir, lockFile), filepath.Join(dir, pidFile)))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// check reads the whole of a backup.
func check(ctx context.Context, name string) error {
	db, err := database(name, waits, "query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	version, err := schemaVersion(ctx, c, len(migrations))
	if err != nil {
		return err
	}
	if version == 0 {
		return &poise.Error{Kind: poise.Invalid, Detail: "backup: empty, expected a file that backup wrote"}
	}
	var mode, verdict string
	if err := c.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode == "wal" {
		return &poise.Error{Kind: poise.Invalid, Detail: "backup: the file of a live store, which may lack its latest records, expected a file that backup wrote"}
	}
	if err := c.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return damaged(errors.New(verdict))
	}
	return contiguous(ctx, c)
}

func damaged(err error) error {
	return &poise.Error{Kind: poise.Invalid, Detail: "backup: damaged, expected a file that backup wrote", Err: err}
}

// contiguous refuses a log with a gap.
func contiguous(ctx context.Context, c *sql.Conn) error {
	var n, last, cut int64
	if err := c.QueryRowContext(ctx, "SELECT count(*), ifnull(max(seq), 0), (SELECT value FROM meta WHERE key = 'cut') FROM events").Scan(&n, &last, &cut); err != nil {
		return err
	}
	if n > 0 && last != cut+n {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("backup: %d events up to %d, of which %d are cut, expected no gap", n, last, cut)}
	}
	return nil
}
