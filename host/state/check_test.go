package state

import (
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"
)

func (c *machine) check(t *rapid.T) {
	s := c.View()
	if got, want := content(s), c.m.content(); got != want {
		t.Fatalf("the nodes are\n%s\nexpected\n%s", got, want)
	}
	if s.Nodes() != len(c.m.nodes) || s.Joins() != c.m.joins || s.Arrivals() != uint64(len(c.m.arrivals)) || s.Epoch() != c.m.epoch {
		t.Fatalf("%d nodes, %d joins, %d arrivals, epoch %d, expected %d, %d, %d, %d",
			s.Nodes(), s.Joins(), s.Arrivals(), s.Epoch(), len(c.m.nodes), c.m.joins, len(c.m.arrivals), c.m.epoch)
	}
	if c.Jobs() != len(c.m.jobs) || c.Shapes() != c.m.shapes() {
		t.Fatalf("%d jobs of %d shapes, expected %d of %d", c.Jobs(), c.Shapes(), len(c.m.jobs), c.m.shapes())
	}
	for i := range c.kept {
		c.kept[i].check(t)
	}
	c.checkRanks(t, s)
	c.checkJobs(t, s)
	c.checkVersions(t, s)
	c.checkDemand(t)
	c.checkUsage(t)
	c.checkGangs(t)
	c.checkPods(t)
}

func (c *machine) checkRanks(t *rapid.T, s *Snapshot) {
	rows := byRank(s)
	for i, row := range rows {
		if got, ok := c.Row(s.Name(row)); !ok || got != row || s.Incarnation(row) != c.m.nodes[s.Name(row)].incarnation {
			t.Fatalf("node %s is in row %d, incarnation %d, but Row gives %d, %v and it joined as %d",
				s.Name(row), row, s.Incarnation(row), got, ok, c.m.nodes[s.Name(row)].incarnation)
		}
		if i > 0 && (s.Name(rows[i-1]) >= s.Name(row) || s.Rank(rows[i-1]) == s.Rank(row)) {
			t.Fatalf("ranks put %s (%d) before %s (%d)", s.Name(rows[i-1]), s.Rank(rows[i-1]), s.Name(row), s.Rank(row))
		}
	}
}

func (c *machine) checkJobs(t *rapid.T, s *Snapshot) {
	byShape := map[*Shape]string{}
	lives := c.m.lives()
	for id, want := range c.m.jobs {
		j := c.Job(id)
		if j == nil || j.Waiting() != (want.on == nil) || j.Name != want.Name || j.Tenant != want.Tenant || j.Priority != want.Priority || !slices.Equal(j.After, want.After) {
			t.Fatalf("job %s is %+v, expected %+v", id, j, want)
		}
		text := fmt.Sprintf("%v %q %v", want.Request, want.Selectors, want.Tolerations)
		if got := fmt.Sprintf("%v %q %v", j.Shape.Request, j.Shape.Selectors, j.Shape.Tolerations); got != text {
			t.Fatalf("job %s has shape %s, expected %s", id, got, text)
		}
		spec := j.Spec()
		if got := lifeText(&spec, j.NotBefore, j.Failures); got != lives[id] {
			t.Fatalf("job %s: %s, expected %s", id, got, lives[id])
		}
		byShape[j.Shape] = text
	}
	for id := range c.m.occupants {
		byShape[c.occupants[id].task.Shape] = ""
	}
	if len(byShape) != c.m.shapes() {
		t.Fatalf("%d shapes in use, expected %d: one for equal requests", len(byShape), c.m.shapes())
	}
}

// checkVersions checks that versions only rise, that no two rows share one,
// and what the change log says from each point that a reader may hold.
func (c *machine) checkVersions(t *rapid.T, s *Snapshot) {
	seen := map[uint64]bool{}
	for row := range uint32(s.Rows()) {
		v := s.RowVersion(row)
		if v == 0 || v > s.Version() || seen[v] || int(row) < len(c.versions) && v < c.versions[row] {
			t.Fatalf("row %d has version %d of %d, before %v", row, v, s.Version(), c.versions)
		}
		seen[v] = true
	}
	c.versions = c.versions[:0]
	for row := range uint32(s.Rows()) {
		c.versions = append(c.versions, s.RowVersion(row))
	}
	checkChanges(t, s, rapid.Uint64Range(0, s.Version()+1).Draw(t, "since"))
	for i := range c.kept {
		old := c.kept[i].snap
		checkChanges(t, s, old.Version())
		for row := range uint32(old.Rows()) {
			same := old.Present(row) == s.Present(row)
			if same && s.Present(row) {
				same = nodeText(old, row) == nodeText(s, row) && old.Incarnation(row) == s.Incarnation(row)
			}
			if !same && old.RowVersion(row) >= s.RowVersion(row) {
				t.Fatalf("row %d changed visibly and kept version %d", row, s.RowVersion(row))
			}
		}
	}
}

// checkChanges checks that the log from a version on lists the rows with a
// later version, in the order of their versions once repetitions are dropped.
func checkChanges(t fataler, s *Snapshot, since uint64) {
	t.Helper()
	rows, ok := s.ChangesSince(since)
	if since > s.Version() {
		if ok {
			t.Fatalf("changes since %d, which is yet to come, are %v", since, rows)
		}
		return
	}
	if !ok {
		if s.Version()-since < 2048 {
			t.Fatalf("the log of version %d does not reach back to %d, expected 2048 changes at least", s.Version(), since)
		}
		return
	}
	if uint64(len(rows)) != s.Version()-since {
		t.Fatalf("%d changes from %d to %d", len(rows), since, s.Version())
	}
	last := map[uint32]uint64{}
	for i, row := range rows {
		last[row] = since + 1 + uint64(i)
	}
	for row := range uint32(s.Rows()) {
		if v := s.RowVersion(row); last[row] != v && (v > since || last[row] != 0) {
			t.Fatalf("row %d has version %d, the log since %d has it last at %d", row, v, since, last[row])
		}
	}
}

func (c *machine) checkDemand(t *rapid.T) {
	got, want := c.Demand(), c.m.demand()
	if len(got) != len(want) {
		t.Fatalf("demand %+v, expected %+v", got, want)
	}
	for i := range got {
		g, w := got[i], want[i]
		exact := c.m.halfLife > 0 || g.Times == w.Times
		if !exact || math.Abs(g.Times-w.Times) > 1e-9*w.Times {
			t.Fatalf("demand %+v seen %v times, expected %v", w, g.Times, w.Times)
		}
		g.Times, g.at, w.Times = 0, 0, 0
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Fatalf("demand %+v, expected %+v", g, w)
		}
	}
}
