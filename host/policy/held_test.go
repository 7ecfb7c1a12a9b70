package policy

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Whatever happened since the last pass, the columns that a slot holds are those
// that would be laid anew, and a guest sees of every row what the snapshot says.
func TestHeldColumnsAreAsLaidAnew(t *testing.T) {
	columns := guestOf(t, "echo", nil).module.Manifest.AllColumns()
	guests := make([]*Guest, len(columns))
	for i := range columns {
		guests[i] = guestOf(t, "echo", map[string]string{"column": fmt.Sprint(i)})
	}
	const nodes = 300
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.apply(guests[0].Symbols())
		fleet(w, nodes)
		g, held := guests[rapid.IntRange(0, len(guests)-1).Draw(t, "column")], 0
		g.mirror = newMirror(g.module.Manifest) // of another State
		for range rapid.IntRange(1, 10).Draw(t, "rounds") {
			for range rapid.IntRange(0, 4).Draw(t, "steps") {
				w.step(t)
			}
			job := w.submit(rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "tenant"), request(1, 0, 0), func(j *poise.Job) {
				j.Selectors = []poise.Selector{{Key: "zone", Op: poise.In, Values: []string{"east"}}}
				j.Tolerations = []poise.Toleration{{Key: string(poise.NoSchedule), Exists: true}}
			})
			b := &state.Batch{Snap: w.state.View(), Job: job}
			every, from := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "every"), rapid.IntRange(0, 20).Draw(t, "from")
			for i, row := range w.rows() {
				if i >= from && i%every == 0 {
					b.Rows = append(b.Rows, row)
				}
			}
			if rapid.Bool().Draw(t, "backwards") {
				slices.Reverse(b.Rows)
			}
			g.Prepare(b.Snap, job)
			loss, devices := make([]float64, len(b.Rows)), make([]uint32, len(b.Rows))
			if err := g.Score(b, loss, devices); err != nil {
				t.Fatal(err)
			}
			for k, row := range b.Rows {
				if want := element(b.Snap, job, row, columns[guestColumn(g)]); loss[k] != want {
					t.Fatalf("row %d of %d: %v, expected %v", row, len(b.Rows), loss[k], want)
				}
			}
			checkHeld(t, g)
			if g.large != nil && g.large.holds() {
				held++
			}
		}
		if held == 0 {
			t.Fatal("nothing was held")
		}
	})
}

// guestColumn is the column that an echo answers with.
func guestColumn(g *Guest) int { return int(g.settings[0].Bits) }

// checkHeld compares what the large slot holds with the mirror.
func checkHeld(t *rapid.T, g *Guest) {
	s := g.large
	if s == nil || !s.holds() || s.pass != g.pass.number {
		return
	}
	g.mirror.turn()
	for i := range s.layout.Columns {
		c := &s.layout.Columns[i]
		from := g.mirror.data[i]
		if !perCall(c.Kind) && !bytes.Equal(s.arena()[c.Offset:][:len(from)], from) {
			t.Fatalf("column %+v differs from the mirror", c.Column)
		}
	}
}

// A plugin that says it is row-pure and writes over its columns is found by the
// audit, which sees none of what it wrote. From then on it gets new copies.
func TestAuditFindsWhoWritesOverColumns(t *testing.T) {
	w := newWorld(t)
	fleet(w, 3000)
	g := guestOf(t, "scribble", nil)
	right := func() bool {
		job := w.submit("t", request(1, 0, 0), nil)
		b := &state.Batch{Snap: w.state.View(), Job: job, Rows: w.rows()}
		loss := make([]float64, len(b.Rows))
		g.Prepare(b.Snap, job)
		if err := g.Score(b, loss, make([]uint32, len(b.Rows))); err != nil {
			t.Fatal(err)
		}
		for i, row := range b.Rows {
			if loss[i] != float64(b.Snap.Capacity(row, slices.Index(b.Snap.Dims(), "cpu"))) {
				return false
			}
		}
		return true
	}
	passes := 0
	for ; passes < 200 && g.Counters().Read().Impure == 0; passes++ {
		if right() && passes == 0 && !g.large.holds() {
			t.Fatal("nothing is held")
		}
	}
	if c := g.Counters().Read(); c.Impure != 1 || passes < 2 {
		t.Fatalf("%+v after %d passes, expected that the audit finds it in the second or later", c, passes)
	}
	for range 20 {
		if !right() || g.large.holds() {
			t.Fatal("columns are still held, expected new copies")
		}
	}
}

// What one tenant's jobs left in the columns is not there for another's.
func TestHeldColumnsAreOfOneTenant(t *testing.T) {
	w := newWorld(t)
	fleet(w, 200)
	g := guestOf(t, "scribble", nil)
	last := ""
	for _, tenant := range []string{"red", "blue", "blue", "red"} {
		g.Prepare(w.state.View(), w.submit(tenant, request(1, 0, 0), nil))
		s, fault := g.slotFor(200)
		if fault != nil || !s.holds() {
			t.Fatal(fault, "or nothing is held")
		}
		c := s.layout.Columns[0]
		column := s.arena()[c.Offset:][:(s.layout.Sizes.Held+s.layout.Sizes.Rows)*c.Stride]
		laid := make([]byte, len(column))
		g.mirror.turn()
		copy(laid, g.mirror.data[0])
		if anew := bytes.Equal(column, laid); anew != (tenant != last) {
			t.Errorf("%s after %q: columns laid anew %v, expected that for another tenant", tenant, last, anew)
		}
		for i := range column {
			column[i] = 0xa5
		}
		last = tenant
	}
}
