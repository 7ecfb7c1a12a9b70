package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

func TestAppendRead(t *testing.T) {
	s := open(t, t.TempDir())
	if got := seqs(t, s, 0); got != nil || s.Last() != 0 {
		t.Fatalf("a new store has %v up to %d, expected nothing", got, s.Last())
	}
	put(t, s, Batch{Records: records(1, 3)})
	put(t, s, Batch{})
	put(t, s, Batch{Records: records(4, 4)})
	f := func(from uint64, want ...uint64) {
		t.Helper()
		if got := seqs(t, s, from); !slices.Equal(got, want) {
			t.Errorf("from %d: %v, expected %v", from, got, want)
		}
	}
	f(0, 1, 2, 3, 4)
	f(1, 1, 2, 3, 4)
	f(4, 4)
	f(5)
	f(1000)
	if s.Last() != 4 || s.Stalled() != nil {
		t.Errorf("last %d, stalled %v, expected 4 and no stall", s.Last(), s.Stalled())
	}
	stop := errors.New("stop")
	if err := s.Read(t.Context(), 1, func(Record) error { return stop }); err != stop {
		t.Errorf("%v, expected the error of fn", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, s.Read(ctx, 1, func(Record) error { return nil }), poise.Unavailable, "context canceled")
}

// More than one page by number, and by size; fn may use the store.
func TestReadPages(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Records: records(1, pageRecords+10)})
	big := record(pageRecords + 11)
	big.Body = make([]byte, pageBytes+1)
	put(t, s, Batch{Records: []Record{big, record(pageRecords + 12)}})
	next := uint64(1)
	err := s.Read(t.Context(), 1, func(r Record) error {
		if r.Seq != next {
			t.Fatalf("seq %d, expected %d", r.Seq, next)
		}
		if next++; r.Seq == 5 {
			put(t, s, Batch{Records: records(pageRecords+13, pageRecords+13)})
		}
		return nil
	})
	if err != nil || next != pageRecords+14 {
		t.Errorf("read up to %d, %v, expected up to %d: what came meanwhile as well", next-1, err, pageRecords+13)
	}
}

func TestAppendRefuses(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Records: records(1, 2)})
	f := func(kind poise.Kind, says string, r ...Record) {
		t.Helper()
		p := s.Append(Batch{Records: r})
		<-p.Done()
		refused(t, p.Err(), kind, says)
		refused(t, p.Wait(t.Context()), kind, says)
	}
	f(poise.Invalid, "seq: 2, expected 3", record(2))
	f(poise.Invalid, "seq: 4, expected 3", record(4))
	f(poise.Invalid, "seq: 0, expected 3", record(0))
	f(poise.Invalid, "seq: 3, expected 4", record(3), record(3))
	f(poise.Limit, "body: too large", Record{Seq: 3, Body: make([]byte, maxBody+1)})
	if got := seqs(t, s, 0); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("%v, expected nothing of what was refused", got)
	}
	put(t, s, Batch{Records: records(3, 3)})
}

// What Read gives is what was appended, whatever it was and however often the
// store was opened.
func TestAppendReadProperty(t *testing.T) {
	opens := 4
	if raceDetector {
		opens = 2
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "store")
		if err != nil {
			rt.Fatal(err)
		}
		body := rapid.SliceOfN(rapid.Byte(), 0, 40)
		var all []Record
		for range rapid.IntRange(1, opens).Draw(rt, "opens") {
			s, err := Open(t.Context(), Options{Dir: dir})
			if err != nil {
				rt.Fatal(err)
			}
			if s.Last() != uint64(len(all)) {
				rt.Fatalf("last %d after opening, expected %d", s.Last(), len(all))
			}
			var pending []*Pending
			for range rapid.IntRange(0, 5).Draw(rt, "batches") {
				var b Batch
				for range rapid.IntRange(0, 4).Draw(rt, "records") {
					r := Record{
						Seq: uint64(len(all) + 1), Kind: rapid.String().Draw(rt, "kind"), Schema: rapid.Int().Draw(rt, "schema"),
						At: rapid.Int64().Draw(rt, "at"), Body: body.Draw(rt, "body"),
					}
					b.Records = append(b.Records, r)
					all = append(all, r)
				}
				pending = append(pending, s.Append(b))
			}
			if rapid.Bool().Draw(rt, "wait") {
				for _, p := range pending {
					if err := p.Wait(t.Context()); err != nil {
						rt.Fatal(err)
					}
				}
				i := 0
				err := s.Read(t.Context(), 0, func(r Record) error {
					if i == len(all) || !same(r, all[i]) {
						rt.Fatalf("record %d: %+v, expected as in %+v", i, r, all)
					}
					i++
					return nil
				})
				if err != nil || i != len(all) {
					rt.Fatalf("%d records, %v, expected %d", i, err, len(all))
				}
			}
			if err := s.Close(); err != nil { // what was not waited for as well
				rt.Fatal(err)
			}
		}
	})
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%25", "store")
	s := open(t, dir)
	put(t, s, Batch{Records: records(1, 1)})
	f := func(name string, want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, expected mode %o", name, info, err, want)
		}
	}
	f(dir, 0o700)
	for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", lockFile, pidFile} {
		f(filepath.Join(dir, name), 0o600)
	}
	refusedOpen(t, dir, poise.Conflict, "in use by process "+pid())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	refused(t, s.Append(Batch{Records: records(2, 2)}).Wait(t.Context()), poise.Unavailable, "closed")
	refused(t, s.PutSnapshot(t.Context(), 1, nil, false), poise.Unavailable, "closed")
	if again := open(t, dir); again.Last() != 1 {
		t.Errorf("last %d, expected 1", again.Last())
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refusedOpen(t, file, poise.Invalid, "is a file, expected a directory")
	refusedOpen(t, filepath.Join(file, "below"), poise.Unavailable, "below")

	garbage := t.TempDir()
	if err := os.WriteFile(filepath.Join(garbage, databaseFile), []byte(strings.Repeat("garbage ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refusedOpen(t, garbage, poise.Internal, "damaged, expected one that SQLite can read")
	refusedOpen(t, garbage, poise.Internal, "damaged") // not "in use": the lock was let go
}

func refusedOpen(t *testing.T, dir string, kind poise.Kind, says string) {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir})
	if err == nil {
		s.Close()
	}
	refused(t, err, kind, says)
}

func TestObserve(t *testing.T) {
	var seen []uint64
	calls := 0
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Observe: func(group []Batch, took time.Duration) {
		calls++
		for _, b := range group {
			for _, r := range b.Records {
				seen = append(seen, r.Seq)
			}
		}
		if took <= 0 {
			t.Errorf("took %v, expected more", took)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 10; seq++ {
		s.Append(Batch{Records: []Record{{Seq: seq, Body: make([]byte, 7)}}})
	}
	if err := s.Close(); err != nil { // and with it, all calls are over
		t.Fatal(err)
	}
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(seen, want) || calls > 10 {
		t.Errorf("%v in %d calls, expected %v in at most 10", seen, calls, want)
	}
}

func TestHealth(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Records: records(1, 3)})
	h, err := s.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.First != 1 || h.Last != 3 || h.Waiting != 0 || h.Stalled != nil || h.WAL == 0 || h.Free == 0 {
		t.Errorf("%+v, expected events 1 to 3, a write-ahead log and room", h)
	}
}
