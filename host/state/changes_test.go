package state

import (
	"math/rand"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// A small fleet with many more changes than the log holds: from every version
// that the log reaches back to it lists exactly what changed, and a snapshot
// taken before the log was cut still reads its own.
func TestChangesAcrossCutsOfTheLog(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	d := newDriver(t, 0)
	names := numbered(5)
	d.joinAll(t, names...)
	history := []string{""} // history[v] is the node that version v belongs to
	history = append(history, names...)
	var kept []keptSnapshot
	cuts, base := 0, uint64(0)
	for len(history) < 30_000 {
		name := names[rng.Intn(len(names))]
		d.do(t, poise.NodeMarked{Name: name, Drained: rng.Intn(2) == 0})
		history = append(history, name)
		s := d.View()
		if s.changesBase != base {
			cuts, base = cuts+1, s.changesBase
		}
		if len(history)%997 != 0 {
			continue
		}
		kept = append(kept, keep(d.Snapshot()))
		for _, since := range []uint64{0, base, s.Version(), s.Version() + 1, uint64(rng.Int63n(int64(s.Version())))} {
			checkChanges(t, s, since)
			rows, ok := s.ChangesSince(since)
			for i, row := range rows {
				if s.Name(row) != history[since+1+uint64(i)] {
					t.Fatalf("version %d belongs to %s, expected %s", since+1+uint64(i), s.Name(row), history[since+1+uint64(i)])
				}
			}
			if reaches := since >= base && since <= s.Version(); ok != reaches {
				t.Fatalf("the log of %d to %d reaches back to %d: %v", base, s.Version(), since, ok)
			}
		}
	}
	if cuts < 10 || cap(d.live.changes) > 2*4096 {
		t.Errorf("the log was cut %d times and has room for %d, expected 10 or more and a bound", cuts, cap(d.live.changes))
	}
	for i := range kept {
		kept[i].check(t)
		checkChanges(t, kept[i].snap, 0)
	}
}

// A caller that appends to what ChangesSince gave does not write into the log.
func TestChangesMayBeAppendedTo(t *testing.T) {
	d := newDriver(t, 0)
	d.joinAll(t, "a", "b", "c")
	rows, _ := d.View().ChangesSince(0)
	d.joinAll(t, "d")
	_ = append(rows, 99)
	if rows, _ := d.View().ChangesSince(0); rows[3] != d.row(t, "d") {
		t.Errorf("the log lists row %d, expected %d", rows[3], d.row(t, "d"))
	}
}

// A node that leaves is a change of its row, so a cache learns of it, and
// leaves nothing in the row.
func TestDeparturesAreChanges(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: gpuNode("a", 1000, 2)}, submitted("j", poise.Request{}), placed("j", "a"))
	before := d.View().Version()
	row := d.row(t, "a")
	d.do(t, poise.NodeLeft{Name: "a"})
	s := d.View()
	if rows, ok := s.ChangesSince(before); !ok || len(rows) != 1 || rows[0] != row || s.RowVersion(row) != before+1 || s.Present(row) {
		t.Errorf("changes %v, %v, row %d has version %d", rows, ok, row, s.RowVersion(row))
	}
	if s.Devices(row) != 0 || s.Kind(row) != 0 || s.Running(row) != 0 || s.Tasks(row) != nil || s.Schedulable(row) {
		t.Errorf("the empty row has %d devices and %d tasks", s.Devices(row), s.Running(row))
	}
}

// Described moves when a node describes itself anew, and with nothing else.
func TestDescribed(t *testing.T) {
	d := newDriver(t, 0)
	d.joinAll(t, "z")
	f := func(anew bool, body poise.Body) {
		t.Helper()
		row, known := d.Row("a")
		var before uint64
		if known {
			before = d.View().Described(row)
		}
		d.do(t, body)
		s, row := d.View(), d.row(t, "a")
		if got := s.Described(row); anew && got != s.RowVersion(row) || !anew && got != before || got == 0 {
			t.Errorf("described at %d, before %d, row version %d, expected a new description: %v", got, before, s.RowVersion(row), anew)
		}
	}
	f(true, poise.NodeJoined{Node: gpuNode("a", 1000, 1)})
	f(false, submitted("j", poise.Request{Amounts: amounts("cpu", 1)}))
	f(false, placed("j", "a"))
	f(false, poise.NodeMarked{Name: "a", Drained: true})
	f(false, poise.NodeMarked{Name: "z", Drained: true})
	f(true, poise.NodeChanged{Node: gpuNode("a", 2000, 1)})
	f(false, poise.JobRequeued{Job: "j"})
	d.do(t, poise.NodeLeft{Name: "a"})
	f(true, poise.NodeJoined{Node: gpuNode("a", 2000, 1)})
}
