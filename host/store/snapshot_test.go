package store

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func snapshotSeqs(t *testing.T, s *Store) (all, kept []uint64) {
	t.Helper()
	infos, err := s.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.At != now || i.Bytes != 5 {
			t.Errorf("%+v, expected the time of the store and 5 bytes", i)
		}
		all = append(all, i.Seq)
		if i.Keep {
			kept = append(kept, i.Seq)
		}
	}
	return all, kept
}

func TestSnapshots(t *testing.T) {
	s := open(t, t.TempDir())
	if seq, body, ok, err := s.LatestSnapshot(t.Context()); seq != 0 || body != nil || ok || err != nil {
		t.Errorf("%d %q %v %v, expected none", seq, body, ok, err)
	}
	put(t, s, Batch{Records: records(1, 9)})
	f := func(seq uint64, keep bool, all, kept []uint64) {
		t.Helper()
		if err := s.PutSnapshot(t.Context(), seq, []byte("body"+string(rune('0'+seq))), keep); err != nil {
			t.Fatal(err)
		}
		gotAll, gotKept := snapshotSeqs(t, s)
		if !slices.Equal(gotAll, all) || !slices.Equal(gotKept, kept) {
			t.Errorf("after %d: %v, kept %v, expected %v and %v", seq, gotAll, gotKept, all, kept)
		}
	}
	f(0, false, []uint64{0}, nil)
	f(2, false, []uint64{0, 2}, nil)
	f(4, false, []uint64{2, 4}, nil) // the latest and a spare
	f(5, true, []uint64{4, 5}, []uint64{5})
	f(6, false, []uint64{5, 6}, []uint64{5})
	f(7, false, []uint64{5, 6, 7}, []uint64{5})
	f(8, false, []uint64{5, 7, 8}, []uint64{5})
	f(5, false, []uint64{5, 7, 8}, []uint64{5}) // put again
	if seq, body, ok, err := s.LatestSnapshot(t.Context()); seq != 8 || string(body) != "body8" || !ok || err != nil {
		t.Errorf("%d %q %v %v, expected body8", seq, body, ok, err)
	}
	if body, err := s.Snapshot(t.Context(), 5); string(body) != "body5" || err != nil {
		t.Errorf("%q %v, expected body5", body, err)
	}
	refused(t, s.PutSnapshot(t.Context(), 10, nil, false), poise.Invalid, "seq: 10, expected at most 9")
}
