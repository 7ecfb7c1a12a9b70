package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// fill lets the database grow no more, as a full disk does.
func fill(t *testing.T, s *Store) {
	t.Helper()
	// 1 is below what there is, which SQLite takes as what there is.
	if err := s.upkeep(t.Context(), func(w *writer) error { return w.exec("PRAGMA max_page_count = 1") }); err != nil {
		t.Fatal(err)
	}
}

func drainDisk(t *testing.T, s *Store) {
	t.Helper()
	if err := s.upkeep(t.Context(), func(w *writer) error { return w.exec("PRAGMA max_page_count = 1000000") }); err != nil {
		t.Fatal(err)
	}
}

// large is a record that needs new pages.
func large(seq uint64) Record {
	r := record(seq)
	r.Body = make([]byte, 64<<10)
	return r
}

func TestStall(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Records: records(1, 1)})
	fill(t, s)
	a := s.Append(Batch{Records: []Record{record(2), large(3)}})
	refused(t, a.Wait(t.Context()), poise.Unavailable, "full")
	if a.Err() != nil {
		t.Errorf("%v, expected no outcome yet", a.Err())
	}
	refused(t, s.Stalled(), poise.Unavailable, "full")
	b := s.Append(Batch{Records: records(4, 4), Jobs: []JobRow{{ID: "j4"}}})
	refused(t, b.Wait(t.Context()), poise.Unavailable, "queued, not yet durable")
	refused(t, s.Append(Batch{Records: records(4, 4)}).Wait(t.Context()), poise.Invalid, "seq: 4, expected 5")
	for range 3 {
		s.Kick()
	}
	if got := seqs(t, s, 0); !slices.Equal(got, []uint64{1}) || s.Last() != 1 {
		t.Errorf("%v up to %d, expected nothing of what is queued, and reads that go on", got, s.Last())
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Stalled == nil || h.Waiting != 2 {
		t.Errorf("%+v, %v, expected a stall and 2 batches that wait", h, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, expected that a second Wait waits", err)
	}

	drainDisk(t, s)
	s.Kick()
	for _, p := range []*Pending{b, a} {
		if err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := seqs(t, s, 0); !slices.Equal(got, []uint64{1, 2, 3, 4}) || s.Last() != 4 || s.Stalled() != nil {
		t.Errorf("%v up to %d, stalled %v, expected 4 and no stall", got, s.Last(), s.Stalled())
	}
	if _, err := s.Job(t.Context(), "j4"); err != nil {
		t.Error(err)
	}
	put(t, s, Batch{Records: records(5, 5)})

	// A second stall is told anew to whoever comes then.
	fill(t, s)
	refused(t, s.Append(Batch{Records: []Record{large(6)}}).Wait(t.Context()), poise.Unavailable, "full")
}

// By itself, with no Kick.
func TestStallEnds(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s)
	p := s.Append(Batch{Records: []Record{large(1)}})
	refused(t, p.Wait(t.Context()), poise.Unavailable, "full")
	drainDisk(t, s)
	if err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseWhileStalled(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, Batch{Records: records(1, 1)})
	fill(t, s)
	p := s.Append(Batch{Records: []Record{large(2)}})
	refused(t, p.Wait(t.Context()), poise.Unavailable, "full")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	refused(t, p.Wait(t.Context()), poise.Unavailable, "not durable")
	if again := open(t, dir); again.Last() != 1 {
		t.Errorf("last %d, expected 1", again.Last())
	}
}

// A connection that is broken is replaced.
func TestReconnect(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, Batch{Records: records(1, 1)})
	if err := s.upkeep(t.Context(), func(w *writer) error { return w.conn.Close() }); err != nil {
		t.Fatal(err)
	}
	put(t, s, Batch{Records: records(2, 2)})
	if err := s.upkeep(t.Context(), func(w *writer) error { return w.exec("BEGIN") }); err != nil {
		t.Fatal(err)
	}
	put(t, s, Batch{Records: records(3, 3)})
	if got := seqs(t, s, 0); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("%v, expected 1 2 3", got)
	}
}

func TestWriterRetries(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, Batch{Records: records(1, 2)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWriter(filepath.Join(dir, databaseFile), func(string) {})
	defer w.close()
	group := []*Pending{{batch: Batch{Records: records(3, 4)}}}
	// The first may have reported an error: the second finds that all is there.
	for range 2 {
		if err := w.write(group, 3, 4); err != nil {
			t.Fatal(err)
		}
	}
	f := func(first, last uint64) {
		t.Helper()
		refused(t, w.write([]*Pending{{batch: Batch{Records: records(first, last)}}}, first, last), poise.Internal, "something else changed the database")
	}
	f(6, 6)
	f(2, 3)
}
