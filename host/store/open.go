package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// databaseFile is the name of the database within the directory of a store.
const databaseFile = "poise.db"

// Options say where a store is and what it tells its owner.
type Options struct {
	Dir string
	// Now gives ms since the Unix epoch: when a snapshot was taken, and what age
	// Retain cuts at.
	Now func() int64
	// Observe, where set, is told of each durable transaction: what it wrote, which
	// nobody may change, and how long it took. The writer waits for it.
	Observe func(group []Batch, took time.Duration)

	step func(point string) // called at each point of a write where a crash would differ
}

// Store is an open store. Its methods may be called from any goroutine.
type Store struct {
	options Options
	lock    *lock
	reads   *reads
	writer  *writer

	wake, kick chan struct{} // at most one signal each
	tasks      chan *task
	quit       chan struct{}
	finished   chan struct{}

	mu      sync.Mutex
	queue   []*Pending
	tail    uint64 // Seq of the last record queued
	durable uint64
	cause   error         // of the stall, nil while all is well
	stalled chan struct{} // closed while stalled
	closed  bool
}

// Open makes the directory if there is none, brings an older store to today's
// schema and starts the writer. A second opener is refused, in this process or
// another.
func Open(ctx context.Context, o Options) (*Store, error) {
	op := fmt.Sprintf("open store %q", o.Dir)
	if o.step == nil {
		o.step = func(string) {}
	}
	if err := makeDir(o.Dir); err != nil {
		return nil, failure(op, err)
	}
	l, err := acquire(ctx, o.Dir)
	if err != nil {
		return nil, failure(op, err)
	}
	s := &Store{
		options: o, lock: l,
		wake: make(chan struct{}, 1), kick: make(chan struct{}, 1), tasks: make(chan *task),
		quit: make(chan struct{}), finished: make(chan struct{}), stalled: make(chan struct{}),
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(failure(op, err), s.release())
	}
	go s.run()
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	name := filepath.Join(s.options.Dir, databaseFile)
	if err := makeFile(name); err != nil {
		return err
	}
	s.writer = newWriter(name, s.options.step)
	if err := s.writer.connect(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, s.writer.conn, migrations[:]); err != nil {
		return err
	}
	var err error
	if s.reads, err = openReads(name); err != nil {
		return err
	}
	s.durable, err = lastSeq(ctx, s.reads)
	s.tail = s.durable
	return err
}

// Close makes durable what is queued, gives up on what the disk refuses now,
// and lets go of the directory.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		<-s.finished
		return nil
	}
	close(s.quit)
	<-s.finished
	return s.release()
}

// release undoes as much of Open as there is.
func (s *Store) release() error {
	var errs []error
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	return errors.Join(append(errs, s.lock.release())...)
}

// database gives a pool of connections to the file. Connections are opened as
// they are needed.
func database(name string, pragmas ...string) (*sql.DB, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") { // a drive letter
		path = "/" + path
	}
	q := url.Values{"_pragma": pragmas}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return sql.Open("sqlite", u.String())
}

// waits is how long a statement waits for a lock that another has on the
// database: a person with a tool of SQLite, for one.
const waits = "busy_timeout(2000)"

// makeDir makes the directory, for its owner only, and makes its name durable.
// One that is there keeps its mode: volumes often belong to somebody else.
func makeDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("dir: %q is a file, expected a directory", dir)}
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// makeFile makes an empty file for its owner only, which SQLite then takes as a
// new database; left to itself it would let others read it.
func makeFile(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// lastSeq gives the Seq of the last event that is, or was before it was cut.
func lastSeq(ctx context.Context, db querier) (uint64, error) {
	var last int64
	err := db.QueryRowContext(ctx, "SELECT max(value, ifnull((SELECT max(seq) FROM events), 0)) FROM meta WHERE key = 'cut'").Scan(&last)
	return uint64(last), err
}

// querier is a connection or a pool of them.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
