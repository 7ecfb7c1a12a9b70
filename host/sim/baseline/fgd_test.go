package baseline

import (
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// plainPhi is Phi straight from its definition.
func plainPhi(typical []Typical, cpu int64, free []uint16, model string) float64 {
	var sums [7]float64
	all := float64(total(free))
	for _, t := range typical {
		enough, below := int32(0), 0.0
		for _, f := range free {
			if int32(f) >= t.Milli {
				enough++
			} else {
				below += float64(f)
			}
		}
		class, phi := 0, all
		switch cpuOK, gpuOK := cpu >= t.CPU, enough >= t.Count; {
		case t.Milli == 0 && cpuOK:
			class = 4
		case t.Milli == 0:
			class = 5
		case len(t.Models) > 0 && !slices.Contains(t.Models, model):
			class = 6
		case gpuOK && cpuOK:
			class, phi = 1, below
		case gpuOK:
			class = 3
		case cpuOK:
			class = 1
		}
		sums[class] += float64(t.Share * phi)
	}
	sum := 0.0
	for _, class := range []int{0, 1, 3, 4, 5, 6} {
		sum += sums[class]
	}
	return sum
}

// plainFGD is the score of a node straight from its definition.
func plainFGD(typical []Typical, cpu int64, free []uint16, model string, r *poise.Request) (float64, uint32) {
	ask, _ := r.Amounts.Find("cpu")
	before := plainPhi(typical, cpu, free, model)
	score := func(after []uint16) float64 {
		delta := (before - plainPhi(typical, cpu-ask, after, model)) / 1000
		return float64(int((1 / (1 + math.Exp(-delta))) * 100))
	}
	d := &r.Device
	if !d.Shared() {
		after := slices.Clone(free)
		for range d.Count {
			after[slices.Index(after, 1000)] = 0
		}
		return score(after), 0
	}
	best, mask := -1.0, uint32(0)
	for i := range free {
		if int32(free[i]) < d.Milli {
			continue
		}
		after := slices.Clone(free)
		after[i] -= uint16(d.Milli)
		if s := score(after); s > best {
			best, mask = s, 1<<i
		}
	}
	return best, mask
}

// The fragments after a placement that stand beside the worked values.
func TestFragments(t *testing.T) {
	w := twoNodes(t)
	m := newFragments(TypicalTasks(twoNodesWorkload()))
	f := func(node string, cpu int64, device int, milli uint16, want float64) {
		t.Helper()
		row := w.row(node)
		free := slices.Clone(w.state.View().Free(row))
		free[device] -= milli
		if got := m.phi(m.model(""), w.state.View().Idle(row, 0)-cpu, free); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f("A", 0, 0, 0, 1465)
	f("A", 3152, 0, 810, 1455)
	f("A", 3152, 1, 810, 1455)
	f("A", 3152, 2, 810, 1105)
	f("A", 3152, 3, 810, 1080)
	f("A", 11300, 0, 1000, 1565)
	f("A", 12500, 0, 0, 2065)
	f("B", 0, 0, 0, 400)
	f("B", 3152, 0, 810, 390)
	f("B", 3152, 1, 810, 390)
	f("B", 11300, 0, 1000, 200)
	f("B", 12500, 0, 0, 400)
}

// A scorer that is used with one state after another takes the models of the
// state that it is asked about.
func TestFGDForgetsSymbols(t *testing.T) {
	p, err := New("fgd", append(repeat(1, request(1, 1000, 1, "a")), repeat(1, request(1, 1000, 1, "b"))...))
	if err != nil {
		t.Fatal(err)
	}
	f := func(want float64, models ...string) {
		t.Helper()
		w := newWorld(t)
		for i, model := range models {
			w.join(string(rune('1'+i)), 10, 0, int32(i+1), model)
		}
		w.join("n", 10, 0, 1, "c")
		b := state.Batch{Snap: w.state.View(), Job: w.submit(request(1, 1000, 1)), Rows: []uint32{w.row("n")}}
		loss, devices := make([]float64, 1), make([]uint32, 1)
		if err := p.Scorer.Score(&b, loss, devices); err != nil || maxScore-loss[0] != want {
			t.Errorf("models %q: score %v, error %v, want score %v", models, maxScore-loss[0], err, want)
		}
	}
	f(73) // neither task may use c: the fragment of 1000 goes away, 1/(1+1/e)
	f(73, "a", "b")
	f(73, "c", "b", "a")
}

func TestFGDIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomWorld(t, true)
		workload := make([]poise.Request, rapid.IntRange(1, 30).Draw(t, "tasks"))
		for i := range workload {
			workload[i] = randomRequest(t)
		}
		g := newFGD(TypicalTasks(workload))
		j := w.submit(randomRequest(t))
		snap := w.state.View()
		b := state.Batch{Snap: snap, Job: j, Rows: w.fitting(j)}
		loss, devices := make([]float64, len(b.Rows)), make([]uint32, len(b.Rows))
		if err := g.Score(&b, loss, devices); err != nil {
			t.Fatal(err)
		}
		for i, row := range b.Rows {
			want, mask := plainFGD(g.fragments.typical, snap.Idle(row, 0), snap.Free(row), snap.Models()[snap.Model(row)], &j.Shape.Request)
			if maxScore-loss[i] != want || devices[i] != mask {
				t.Fatalf("%s: score %v, devices %b; want %v, %b", snap.Name(row), maxScore-loss[i], devices[i], want, mask)
			}
		}
	})
}
