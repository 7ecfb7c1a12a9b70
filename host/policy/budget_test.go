package policy

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// scores asks a guest about all rows once more and gives what it used.
func scores(w *world, g *Guest, job *state.Job) (poise.PluginUse, error) {
	b := state.Batch{Snap: w.state.View(), Job: job, Rows: w.rows()}
	g.Prepare(b.Snap, job)
	err := g.Score(&b, make([]float64, len(b.Rows)), make([]uint32, len(b.Rows)))
	return g.Use(), err
}

// A guest that spins on large calls and is quick on small ones is not given large
// calls again and again: it uses up one call for each time that rows are halved.
func TestRetriesAreWithinTheBudget(t *testing.T) {
	w := newWorld(t)
	const nodes = 3000
	fleet(w, nodes)
	g := guestOf(t, "fickle", map[string]string{"most": "64"})
	use, err := scores(w, g, w.submit("t", request(1, 0, 0), nil))
	if err != nil {
		t.Fatal(err)
	}
	const halvings = 6 // from 4,096 rows to 64
	if most := halvings * (g.Module().Limits().CallFuel + 1000); use.Fuel > most || use.Calls > 2*nodes/smallRows {
		t.Errorf("%d units in %d calls, expected at most %d and %d", use.Fuel, use.Calls, most, 2*nodes/smallRows)
	}
}

// What the audit asks again is not paid from the job's budget: a plugin whose
// calls are dear is none the less row-pure, and no job of its fails for it.
func TestAuditHasItsOwnFuel(t *testing.T) {
	w := newWorld(t)
	fleet(w, 1)
	g := guestOf(t, "fickle", map[string]string{"spend": "100000"}) // 0.7 of a job's 1 M units
	for range 1000 {
		if _, err := scores(w, g, w.submit("t", request(1, 0, 0), nil)); err != nil {
			t.Fatal(err)
		}
		if c := g.Counters().Read(); c.Audited >= 5 || c.Impure > 0 {
			break
		}
	}
	if c := g.Counters().Read(); c.Audited < 5 || c.Impure > 0 {
		t.Errorf("%+v, expected audits and no impurity", c)
	}
}

// The large arena grows with the fleet: how rows are split into calls does not
// depend on how large the fleet was when the guest was first asked.
func TestArenaGrowsWithTheFleet(t *testing.T) {
	w := newWorld(t)
	fleet(w, 1000)
	job := w.submit("t", request(1, 0, 0), nil)
	old, young := guestOf(t, "answer", nil), guestOf(t, "answer", nil)
	if _, err := scores(w, old, job); err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		w.apply(poise.NodeJoined{Node: poise.Node{Name: fmt.Sprint("more", i), Capacity: resource.List{{Name: "cpu", Value: 64000}}}})
	}
	got, err := scores(w, old, job)
	if err != nil {
		t.Fatal(err)
	}
	want, err := scores(w, young, job)
	if err != nil {
		t.Fatal(err)
	}
	if old.large.layout.Sizes.Rows != young.large.layout.Sizes.Rows {
		t.Errorf("%d calls on %d rows at the most, expected %d on %d as of a new guest",
			got.Calls, old.large.layout.Sizes.Rows, want.Calls, young.large.layout.Sizes.Rows)
	}
}

// A guest that has no memory for large calls is not made anew for each pass.
func TestArenaThatCannotGrow(t *testing.T) {
	w := newWorld(t)
	fleet(w, 3000)
	g := guestOf(t, "fickle", nil)
	job := w.submit("t", request(1, 0, 0), nil)
	if _, err := scores(w, g, job); err != nil {
		t.Fatal(err)
	}
	first := g.large
	if _, err := scores(w, g, job); err != nil || g.large != first {
		t.Errorf("another instance, %v, expected the one of before", err)
	}
}

// The largest budgets that limits allow do not wrap.
func TestBudgetDoesNotWrap(t *testing.T) {
	w := newWorld(t)
	fleet(w, 5000)
	g := guestOf(t, "fickle", nil)
	g.limits.RowFuel, g.limits.JobFuel, g.limits.CallFuel = 1<<40, 1<<40, 1<<40
	g.limits.RowFuel <<= 20 // as with many shapes and devices
	if _, err := scores(w, g, w.submit("t", request(1, 0, 0), nil)); err != nil || g.pass.left <= 0 {
		t.Errorf("%v, %d units left, expected an answer within the budget", err, g.pass.left)
	}
}
