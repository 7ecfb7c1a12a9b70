package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/poise-sched/poise/host/poise"
)

// TestMain is a test run, or the child that a test starts: see childMain.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		childMain(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// day is in ms.
const day = 24 * 60 * 60 * 1000

// now is the clock of the tests.
const now = 1_800_000_000_000

// open opens a store that is closed with the test.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, Now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// record makes the record of a Seq.
func record(seq uint64) Record {
	return Record{Seq: seq, Kind: "job-submitted", Schema: 1, At: now + int64(seq), Body: fmt.Appendf(nil, `{"job":"j%d"}`, seq)}
}

func records(from, to uint64) []Record {
	var all []Record
	for seq := from; seq <= to; seq++ {
		all = append(all, record(seq))
	}
	return all
}

// put makes a batch durable.
func put(t testing.TB, s *Store, b Batch) {
	t.Helper()
	if err := s.Append(b).Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// seqs gives what Read does from a Seq on.
func seqs(t testing.TB, s *Store, from uint64) []uint64 {
	t.Helper()
	var all []uint64
	if err := s.Read(context.Background(), from, func(r Record) error { all = append(all, r.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func same(a, b Record) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Schema == b.Schema && a.At == b.At && bytes.Equal(a.Body, b.Body)
}

// refused checks that err is of a kind and says something.
func refused(t testing.TB, err error, kind poise.Kind, says string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, expected one of kind %s that says %q", kind, says)
	}
	if poise.KindOf(err) != kind || !bytes.Contains([]byte(err.Error()), []byte(says)) {
		t.Fatalf("kind %s: %v\nexpected kind %s and %q", poise.KindOf(err), err, kind, says)
	}
}
