package state

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// joinAll joins nodes of these names.
func (d *driver) joinAll(t fataler, names ...string) {
	t.Helper()
	for _, name := range names {
		d.do(t, poise.NodeJoined{Node: poise.Node{Name: name, Capacity: amounts("cpu", 1000)}})
	}
}

// ordered gives the names of the nodes by rank, and fails where two ranks are
// equal.
func (d *driver) ordered(t fataler) []string {
	t.Helper()
	s := d.View()
	var names []string
	rows := byRank(s)
	for i, row := range rows {
		names = append(names, s.Name(row))
		if i > 0 && s.Rank(rows[i-1]) == s.Rank(row) {
			t.Fatalf("%s and %s have one rank", names[i-1], names[i])
		}
	}
	return names
}

func (d *driver) wantOrder(t fataler, want []string) {
	t.Helper()
	if got := d.ordered(t); !slices.Equal(got, want) {
		t.Fatalf("ranks order the nodes as %q, expected %q", got, want)
	}
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%04d", i)
	}
	return names
}

// However often nodes join between the same two neighbours, ranks order as
// names do, and an older snapshot keeps the ranks it had.
func TestRanksWhenTheyRunOut(t *testing.T) {
	f := func(name string, next func(i int) string) {
		t.Helper()
		d := newDriver(t, 0)
		d.joinAll(t, "m", "m~")
		names := []string{"m", "m~"}
		kept := []keptSnapshot{keep(d.Snapshot())}
		for i := range 200 { // rank gaps halve away after some forty
			d.joinAll(t, next(i))
			names = append(names, next(i))
			slices.Sort(names)
			d.wantOrder(t, names)
			if i%20 == 0 {
				kept = append(kept, keep(d.Snapshot()))
			}
		}
		for i := range kept {
			kept[i].check(t)
		}
	}
	f("in front", func(i int) string { return fmt.Sprintf("a%03d", 999-i) })
	f("behind", func(i int) string { return fmt.Sprintf("z%03d", i) })
	f("between, rising", func(i int) string { return fmt.Sprintf("m%03d", i) })
	f("between, falling", func(i int) string { return fmt.Sprintf("m%03d", 999-i) })
}

// Joins and departures between two readers, in any order and under names used
// before, end in the order of names.
func TestRanksAfterManyChangesAtOnce(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	d := newDriver(t, 0)
	pool := numbered(300)
	present := map[string]bool{}
	for range 200 {
		for range rng.Intn(200) {
			name := pool[rng.Intn(len(pool))]
			if present[name] {
				d.do(t, poise.NodeLeft{Name: name})
				delete(present, name)
			} else {
				d.joinAll(t, name)
				present[name] = true
			}
		}
		var want []string
		for _, name := range pool {
			if present[name] {
				want = append(want, name)
			}
		}
		d.wantOrder(t, want)
	}
}

// Ranks that have climbed as high as they may are given out anew.
func TestRanksAreRenumberedAtTheTop(t *testing.T) {
	d := newDriver(t, 0)
	d.joinAll(t, "a", "b")
	d.View()
	d.setRank(d.row(t, "b"), 1<<63)
	d.joinAll(t, "c")
	d.wantOrder(t, []string{"a", "b", "c"})
	if s := d.View(); s.Rank(d.row(t, "c")) != 3*rankGap {
		t.Errorf("the third name has rank %d, expected %d", s.Rank(d.row(t, "c")), 3*rankGap)
	}
}

// A snapshot that is the first to look has its ranks too.
func TestSnapshotsAreRanked(t *testing.T) {
	d := newDriver(t, 0)
	d.joinAll(t, "b", "a")
	if s := d.Snapshot(); s.Rank(d.row(t, "a")) >= s.Rank(d.row(t, "b")) {
		t.Errorf("a has rank %d, b %d", s.Rank(d.row(t, "a")), s.Rank(d.row(t, "b")))
	}
}
