package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestBackupRestore(t *testing.T) {
	s := open(t, t.TempDir())
	for next := uint64(1); next < 50; next = s.Last() + 1 {
		put(t, s, batchAt(next))
	}
	want := s.Last()
	backup := filepath.Join(t.TempDir(), "it's a backup")
	// Appends go on meanwhile.
	p := s.Append(batchAt(want + 1))
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(t, s.Backup(t.Context(), backup), poise.Conflict, "is there, expected a new name")
	refused(t, s.Backup(t.Context(), filepath.Join(backup, "below")), poise.Unavailable, "below")
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, expected a file for its owner only", info, err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := Restore(t.Context(), backup, dir); err != nil {
		t.Fatal(err)
	}
	if got := checkWhole(t, dir, 1); got < want {
		t.Errorf("last %d, expected %d or more", got, want)
	}
	refused(t, Restore(t.Context(), backup, dir), poise.Conflict, "expected an empty directory")
}

func TestRestoreRefuses(t *testing.T) {
	live := t.TempDir()
	s := open(t, live)
	put(t, s, Batch{Records: records(1, 200)})
	good := filepath.Join(t.TempDir(), "good")
	if err := s.Backup(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	f := func(kind poise.Kind, says string, backup []byte) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "backup")
		if err := os.WriteFile(name, backup, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		refused(t, Restore(t.Context(), name, dir), kind, says)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v, %v, expected that nothing is left", left, err)
		}
		if err := Restore(t.Context(), good, dir); err != nil {
			t.Errorf("then a good one: %v", err)
		}
	}
	f(poise.Invalid, "backup: empty", nil)
	f(poise.Invalid, "backup: damaged", []byte(strings.Repeat("x", 5000)))
	f(poise.Invalid, "backup: damaged", text[:len(text)-4096])
	// The events begin behind the schema: a page of them lost.
	hole := slices.Clone(text)
	clear(hole[len(hole)/2&^4095:][:4096])
	f(poise.Invalid, "backup: damaged", hole)
	liveText, err := os.ReadFile(filepath.Join(live, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	f(poise.Invalid, "the file of a live store", liveText)
	refused(t, Restore(t.Context(), filepath.Join(t.TempDir(), "none"), t.TempDir()), poise.Unavailable, "none")

	// Deleted with another tool.
	db, err := database(good)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DELETE FROM events WHERE seq = 7"); err != nil {
		t.Fatal(err)
	}
	refused(t, Restore(t.Context(), good, t.TempDir()), poise.Invalid, "expected no gap")
}

// A gap, which no code of ours makes, is an error and not a shorter log.
func TestReadGap(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Records: records(1, 5)})
	if err := s.upkeep(t.Context(), func(w *writer) error { return w.exec("DELETE FROM events WHERE seq = 3") }); err != nil {
		t.Fatal(err)
	}
	n := 0
	refused(t, s.Read(t.Context(), 0, func(Record) error { n++; return nil }), poise.Internal, "seq: 4, expected 3: the log has a gap")
	if n != 2 {
		t.Errorf("%d records, expected the 2 before the gap", n)
	}
}
