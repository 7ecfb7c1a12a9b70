package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestRetainEvents(t *testing.T) {
	// 700 records; the first 500 are ten days old.
	f := func(k Keep, snapshots []uint64, first uint64) {
		t.Helper()
		dir := t.TempDir()
		s := open(t, dir)
		all := records(1, 700)
		for i := range 500 {
			all[i].At = now - 10*day
		}
		put(t, s, Batch{Records: all})
		for _, seq := range snapshots {
			if err := s.PutSnapshot(t.Context(), seq, nil, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Retain(t.Context(), Retention{Events: k}); err != nil {
			t.Fatal(err)
		}
		got := seqs(t, s, 0)
		h, err := s.Health(t.Context())
		if err != nil || h.First != first || h.Last != 700 || len(got) != int(701-first) || len(got) > 0 && got[0] != first {
			t.Errorf("%+v, snapshots %v: %d records, first %d, %v, expected from %d on", k, snapshots, len(got), h.First, err, first)
		}
		if first > 1 {
			refused(t, s.Read(t.Context(), first-1, func(Record) error { return nil }), poise.NotFound, fmt.Sprintf("from: %d, expected %d or later", first-1, first))
		}
		// It goes on where it was, even with nothing left.
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		if s.Last() != 700 {
			t.Errorf("last %d after opening, expected 700", s.Last())
		}
		put(t, s, Batch{Records: records(701, 701)})
	}
	f(Keep{}, []uint64{700}, 1)
	f(Keep{Count: 100}, nil, 1)                  // nothing to recover from
	f(Keep{Count: 100}, []uint64{0}, 1)          // the snapshot before everything
	f(Keep{Count: 100}, []uint64{700}, 601)      //
	f(Keep{Count: 100}, []uint64{300, 700}, 301) // the earliest is for replay
	f(Keep{Count: 5000}, []uint64{700}, 1)
	f(Keep{Age: day}, []uint64{700}, 501)
	f(Keep{Age: 20 * day}, []uint64{700}, 1)
	f(Keep{Age: day, Count: 300}, []uint64{700}, 501)
	f(Keep{Age: day, Count: 100}, []uint64{700}, 601)
	f(Keep{Age: -day}, []uint64{700}, 1) // no such age
	f(Keep{Age: 1, Count: 1}, []uint64{700}, 700)
}

// All are old, and all go but what recovery needs.
func TestRetainAllEvents(t *testing.T) {
	s := open(t, t.TempDir())
	old := records(1, 5)
	for i := range old {
		old[i].At = 0
	}
	put(t, s, Batch{Records: old})
	if err := s.PutSnapshot(t.Context(), 5, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Retain(t.Context(), Retention{Events: Keep{Age: day}}); err != nil {
		t.Fatal(err)
	}
	if got := seqs(t, s, 0); got != nil {
		t.Errorf("%v, expected none", got)
	}
	if got := seqs(t, s, 6); got != nil {
		t.Errorf("%v, expected none", got)
	}
	put(t, s, Batch{Records: records(6, 6)})
}

func TestRetainSnapshots(t *testing.T) {
	f := func(k Keep, want ...uint64) {
		t.Helper()
		clock := int64(now)
		s, err := Open(t.Context(), Options{Dir: t.TempDir(), Now: func() int64 { return clock }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		put(t, s, Batch{Records: records(1, 9)})
		for seq := uint64(1); seq <= 6; seq++ {
			clock += day
			if err := s.PutSnapshot(t.Context(), seq, nil, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Retain(t.Context(), Retention{Snapshots: k}); err != nil {
			t.Fatal(err)
		}
		infos, err := s.Snapshots(t.Context())
		var got []uint64
		for _, i := range infos {
			got = append(got, i.Seq)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, %v, expected %v", k, got, err, want)
		}
	}
	f(Keep{}, 1, 2, 3, 4, 5, 6)
	f(Keep{Count: 3}, 4, 5, 6)
	f(Keep{Count: 1}, 5, 6) // the spare
	f(Keep{Age: 3 * day}, 3, 4, 5, 6)
	f(Keep{Age: 3 * day, Count: 3}, 4, 5, 6)
}

func TestRetainJobs(t *testing.T) {
	// 600 jobs: one in three waits. Those that ended did at now - i hours.
	f := func(r Retention, stay int) {
		t.Helper()
		s := open(t, t.TempDir())
		var b Batch
		for i := range int64(600) {
			id := fmt.Sprintf("j%04d", i)
			b.Jobs = append(b.Jobs, JobRow{ID: id, State: []string{"waiting", "done", "failed"}[i%3], Changed: now - i*day/24, Seq: 600 - i})
			b.Placements = append(b.Placements, PlacementRow{ID: "p" + id, Job: id})
		}
		put(t, s, b)
		if err := s.Retain(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, j := range b.Jobs {
			if j.State == "waiting" || i < stay {
				want = append(want, j.ID)
			}
		}
		for _, query := range []string{"SELECT id FROM jobs ORDER BY id", "SELECT job FROM placements ORDER BY job"} {
			rows, err := s.reads.QueryContext(t.Context(), query)
			got, err := collect(rows, err, scanText)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%+v: %s: %d rows, %v, expected %d: those that wait and those before %d", r, query, len(got), err, len(want), stay)
			}
		}
	}
	final := []string{"done", "failed"}
	f(Retention{Final: final}, 600)
	f(Retention{Jobs: Keep{Count: 1}}, 600) // no state is final
	f(Retention{Final: final, Jobs: Keep{Count: 100}}, 150)
	f(Retention{Final: final, Jobs: Keep{Age: 10 * day}}, 241)
	f(Retention{Final: final, Jobs: Keep{Age: 10 * day, Count: 100}}, 150)
	f(Retention{Final: final, Jobs: Keep{Age: day, Count: 100}}, 25)
	f(Retention{Final: final, Jobs: Keep{Count: 5000}}, 600)
}

func TestRetainRows(t *testing.T) {
	// 600 of each, the latest an hour old, each before one hour older.
	f := func(k Keep, stay int) {
		t.Helper()
		s := open(t, t.TempDir())
		var b Batch
		for i := range int64(600) {
			at := now - (600-i)*day/24
			r := record(uint64(i + 1))
			r.At = at
			b.Records = append(b.Records, r)
			b.Decisions = append(b.Decisions, DecisionRow{Seq: r.Seq, At: at})
			b.Audit = append(b.Audit, AuditRow{At: at})
			b.Keys = append(b.Keys, KeyRow{Tenant: "a", Key: fmt.Sprintf("%04d", i), At: at})
		}
		put(t, s, b)
		if err := s.Retain(t.Context(), Retention{Decisions: k, Keys: k, Audit: k}); err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"SELECT count(*) FROM decisions WHERE seq > ?", "SELECT count(*) FROM keys WHERE key + 1 > ?", "SELECT count(*) FROM audit WHERE seq > ?"} {
			var got, all int
			if err := s.reads.QueryRowContext(t.Context(), query, 600-stay).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if err := s.reads.QueryRowContext(t.Context(), query, 0).Scan(&all); err != nil {
				t.Fatal(err)
			}
			if got != stay || all != stay {
				t.Errorf("%+v: %s: %d of the latest %d, %d in all", k, query, got, stay, all)
			}
		}
	}
	f(Keep{}, 600)
	f(Keep{Count: 7}, 7)
	f(Keep{Count: 2000}, 600)
	f(Keep{Age: day}, 24)
	f(Keep{Age: day, Count: 7}, 7)
	f(Keep{Age: day, Count: 70}, 24)
	f(Keep{Age: 1}, 0)
}
