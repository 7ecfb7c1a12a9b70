package store

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

var update = flag.Bool("update", false, "write the store of today's schema into testdata")

// Stores that older code wrote are opened and used by today's. The newest one is
// made with -update, once, when a migration is added.
func TestOldStores(t *testing.T) {
	if *update {
		writeOldStore(t, filepath.Join("testdata", fmt.Sprintf("v%d.db.gz", len(migrations))))
	}
	names, err := filepath.Glob(filepath.Join("testdata", "v*.db.gz"))
	if err != nil || len(names) != len(migrations) {
		t.Fatalf("%v, %v, expected a store of each of %d versions", names, err, len(migrations))
	}
	for _, name := range names {
		dir := t.TempDir()
		unpack(t, name, filepath.Join(dir, databaseFile))
		if got := checkWhole(t, dir, 1); got != 29 {
			t.Errorf("%s: last %d, expected 29", name, got)
		}
		s := open(t, dir)
		if seq, body, ok, err := s.LatestSnapshot(t.Context()); seq != 20 || string(body) != "state" || !ok || err != nil {
			t.Errorf("%s: snapshot %d %q %v %v, expected state at 20", name, seq, body, ok, err)
		}
		if h, err := s.Health(t.Context()); err != nil || h.First != 6 {
			t.Errorf("%s: %+v, %v, expected events from 6 on", name, h, err)
		}
		if err := s.Rebuild(t.Context(), project); err != nil {
			t.Error(err)
		}
		put(t, s, batchAt(30))
	}
}

func writeOldStore(t *testing.T, name string) {
	dir := t.TempDir()
	s := open(t, dir)
	for next := uint64(1); next < 29; next = s.Last() + 1 {
		put(t, s, batchAt(next))
	}
	for _, seq := range []uint64{5, 20} {
		if err := s.PutSnapshot(t.Context(), seq, []byte("state"), seq == 5); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Retain(t.Context(), Retention{Events: Keep{Count: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := gzip.NewWriter(out)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func version(t *testing.T, w *writer) int {
	t.Helper()
	v, err := schemaVersion(t.Context(), w.conn, 100)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A step that fails leaves the version before and nothing of itself; the next
// try goes on from there.
func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, Batch{Records: records(1, 3)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWriter(filepath.Join(dir, databaseFile), func(string) {})
	if err := w.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := len(migrations)
	good := "ALTER TABLE events ADD COLUMN extra TEXT"
	steps := append(slices.Clone(migrations[:]), good, "CREATE TABLE more (a); INSERT INTO nowhere VALUES (1)")
	if err := migrate(t.Context(), w.conn, steps); err == nil {
		t.Fatal("no error, expected one of the last step")
	}
	if got := version(t, w); got != n+1 {
		t.Errorf("version %d, expected %d", got, n+1)
	}
	steps[n+1] = "CREATE TABLE more (a)"
	if err := migrate(t.Context(), w.conn, steps); err != nil {
		t.Fatal(err)
	}
	if got := version(t, w); got != n+2 {
		t.Errorf("version %d, expected %d", got, n+2)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	refusedOpen(t, dir, poise.Invalid, "a newer poise wrote this store")
}

func TestForeignDatabase(t *testing.T) {
	f := func(query string) {
		t.Helper()
		dir := t.TempDir()
		db, err := database(filepath.Join(dir, databaseFile))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		refusedOpen(t, dir, poise.Invalid, "not a store of poise")
	}
	f("CREATE TABLE t (a)")
	f("PRAGMA application_id = 7")
	f("PRAGMA user_version = 1")
}

// What durability rests on.
func TestPragmas(t *testing.T) {
	s := open(t, t.TempDir())
	f := func(name, want string) {
		t.Helper()
		err := s.upkeep(t.Context(), func(w *writer) error {
			var got string
			err := w.conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got)
			if got != want {
				t.Errorf("%s = %s, expected %s", name, got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	f("journal_mode", "wal")
	f("synchronous", "2") // full: each commit is synced
	f("fullfsync", "1")
	f("checkpoint_fullfsync", "1")
	f("cache_size", "-16384")
	if _, err := s.reads.Exec("DELETE FROM meta"); err == nil {
		t.Error("a reader can write, expected that it cannot")
	}
}
