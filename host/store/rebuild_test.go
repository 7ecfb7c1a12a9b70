package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func scanText(r *sql.Rows, text *string) error { return r.Scan(text) }

// dump gives every row of history as text.
func dump(t *testing.T, s *Store) []string {
	t.Helper()
	rows, err := s.reads.QueryContext(t.Context(), `SELECT 'job ' || id || ' ' || state || ' ' || seq FROM jobs
		UNION ALL SELECT 'placement ' || id || ' ' || job || ' ' || devices FROM placements
		UNION ALL SELECT 'decision ' || seq || ' ' || job FROM decisions UNION ALL SELECT 'key ' || key || ' ' || job FROM keys ORDER BY 1`)
	all, err := collect(rows, err, scanText)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// project makes of the first record of a batch of batchAt its rows.
func project(r Record) (Batch, error) {
	var first, n uint64
	if _, err := fmt.Sscan(string(r.Body), &first, &n); err != nil || r.Seq != first {
		return Batch{}, err
	}
	return batchAt(first), nil
}

func TestRebuild(t *testing.T) {
	f := func(cut uint64) {
		t.Helper()
		s := open(t, t.TempDir())
		for next := uint64(1); next < 50; next = s.Last() + 1 {
			put(t, s, batchAt(next))
		}
		want := dump(t, s)
		if cut > 0 {
			if err := s.PutSnapshot(t.Context(), cut, nil, true); err != nil {
				t.Fatal(err)
			}
			if err := s.Retain(t.Context(), Retention{Events: Keep{Count: 1}}); err != nil {
				t.Fatal(err)
			}
		}
		put(t, s, Batch{
			Jobs: []JobRow{{ID: "wrong", Seq: 45}, {ID: "j49", Seq: 49, State: "wrong"}}, Decisions: []DecisionRow{{Seq: 48, Job: "wrong"}},
			Placements: []PlacementRow{{ID: "wrong", Job: "wrong", Decision: 45}}, Keys: []KeyRow{{Key: "wrong", Job: "wrong"}},
		})
		stop := errors.New("stop")
		wrong := dump(t, s)
		err := s.Rebuild(t.Context(), func(r Record) (Batch, error) {
			if r.Seq == s.Last() {
				return Batch{}, &poise.Error{Kind: poise.Invalid, Err: stop}
			}
			return project(r)
		})
		refused(t, err, poise.Invalid, fmt.Sprintf("event %d: stop", s.Last()))
		if !errors.Is(err, stop) {
			t.Errorf("%v, expected the error of project", err)
		}
		if got := dump(t, s); !slices.Equal(got, wrong) {
			t.Errorf("cut %d: %d rows after a failure, expected the %d before it", cut, len(got), len(wrong))
		}
		if err := s.Rebuild(t.Context(), project); err != nil {
			t.Fatal(err)
		}
		if got := dump(t, s); !slices.Equal(got, want) {
			t.Errorf("cut %d: %v\nexpected %v", cut, got, want)
		}
		put(t, s, batchAt(s.Last()+1))
	}
	f(0)
	f(21)
}
