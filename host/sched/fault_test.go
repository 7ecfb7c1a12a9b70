package sched

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// moody is a filter and scorer that answers as leastIdle does until it is told
// to spoil one row, or to fail at one call.
type moody struct {
	leastIdle
	row     uint32
	loss    *float64
	mask    uint32
	failing int // 1: fails at the next call, 2: at the one after, …
	asked   int // rows
}

func (m *moody) Score(b *state.Batch, loss []float64, devices []uint32) error {
	m.asked += len(b.Rows)
	if m.failing--; m.failing == 0 {
		return errors.New("out of mood")
	}
	if err := m.leastIdle.Score(b, loss, devices); err != nil {
		return err
	}
	if i := slices.Index(b.Rows, m.row); i >= 0 && m.loss != nil {
		loss[i], devices[i] = *m.loss, m.mask
	}
	return nil
}

func (m *moody) Filter(*state.Batch, []poise.Reason) error {
	if m.failing--; m.failing == 0 {
		return errors.New("out of mood")
	}
	return nil
}

// B13: a loss that is no number voids the whole call, and names the node.
func TestLossThatIsNoNumber(t *testing.T) {
	f := func(loss float64, want string) {
		t.Helper()
		w := newWorld(t)
		w.join(node("a", 4, 8), node("b", 4, 8), node("c", 4, 8))
		m := &moody{row: 1, loss: &loss}
		p := NewPipeline(Policy{Name: "moody", Scorer: m})
		d, err := p.Plan(w.state.View(), w.submit(job(1, 1)), Pass{Detail: Full})
		if want == "" {
			if err != nil || d.Node != "b" {
				t.Errorf("loss %v: placed on %q with error %v, expected b", loss, d.Node, err)
			}
			return
		}
		if err == nil || err.Error() != want || poise.KindOf(err) != poise.Internal || d.Node != "" {
			t.Errorf("loss %v: placed on %q with error %v, expected %s", loss, d.Node, err, want)
		}
	}
	f(math.NaN(), `policy "moody": loss of node "b": NaN, expected a finite number`)
	f(math.Inf(1), `policy "moody": loss of node "b": +Inf, expected a finite number`)
	f(math.Inf(-1), `policy "moody": loss of node "b": -Inf, expected a finite number`)
	f(-math.MaxFloat64, "")
	f(-1e-9, "")
}

// B13: zeros of both signs and what rounds to zero are one loss, so the name
// decides.
func TestLossesThatAreZero(t *testing.T) {
	f := func(loss float64) {
		t.Helper()
		w := newWorld(t)
		w.join(node("a", 4, 8), node("b", 4, 8))
		zero := constant(0)
		first := mustPlan(t, NewPipeline(Policy{Name: "zero", Scorer: zero}), w.state.View(), w.submit(job(1, 1)))
		tiny := &moody{row: 1, loss: &loss}
		d := mustPlan(t, NewPipeline(Policy{Name: "tiny", Scorer: tieOf{tiny, 1}}), w.state.View(), w.submit(job(1, 1)))
		if first.Node != "a" || d.Node != "a" || math.Signbit(d.Ranked[1].Loss) || d.Ranked[1].Loss != 0 {
			t.Errorf("loss %v beside 0: placed on %q with losses %v and %v, expected a and 0 and 0", loss, d.Node, d.Ranked[0].Loss, d.Ranked[1].Loss)
		}
	}
	f(math.Copysign(0, -1))
	f(-math.SmallestNonzeroFloat64)
	f(math.SmallestNonzeroFloat64)
	f(-4.9e-10)
	f(4.9e-10)
}

// tieOf gives 0 to every row but one.
type tieOf struct {
	Scorer
	row uint32
}

func (s tieOf) Score(b *state.Batch, loss []float64, devices []uint32) error {
	if err := s.Scorer.Score(b, loss, devices); err != nil {
		return err
	}
	for i, row := range b.Rows {
		if row != s.row {
			loss[i] = 0
		}
	}
	return nil
}

// A scorer cannot choose devices that are not there, not free, or not asked
// for.
func TestDeviceMaskThatDoesNotFit(t *testing.T) {
	f := func(j poise.Job, mask uint32, want string) {
		t.Helper()
		w := newWorld(t)
		w.join(withDevices(node("g", 8, 8), "gpu", "", 4))
		w.run("g", ask(job(0, 0), "gpu", 1, 700), 1)
		loss := 0.0
		p := NewPipeline(Policy{Name: "moody", Scorer: &moody{row: 0, loss: &loss, mask: mask}})
		d, err := p.Plan(w.state.View(), w.submit(j), Pass{Detail: Full})
		got := fmt.Sprint(d.Devices)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("mask %b: %s, expected %s", mask, got, want)
		}
	}
	fault := func(mask string, count, milli int) string {
		return fmt.Sprintf(`policy "moody": devices of node "g": mask %s, expected %d devices with %d milli free`, mask, count, milli)
	}
	share, two := ask(job(1, 1), "gpu", 1, 400), ask(job(1, 1), "gpu", 2, 1000)
	f(share, 0, "[0]") // the host chooses
	f(share, 0b1000, "[3]")
	f(share, 0b0010, fault("10", 1, 400))
	f(share, 0b1001, fault("1001", 1, 400))
	f(share, 0b10000, fault("10000", 1, 400))
	f(share, 1<<31, fault("1"+strings.Repeat("0", 31), 1, 400))
	f(two, 0b1001, "[0 3]")
	f(two, 0b0011, fault("11", 2, 1000))
	f(two, 0b0001, fault("1", 2, 1000))
	f(two, 0b1101, fault("1101", 2, 1000))
	f(job(1, 1), 0b1, fault("1", 0, 0))
}

// After a fault nothing of the call is kept: the next plan with a scorer that
// answers again is right, however much changed before and between.
func TestFaultKeepsNothing(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			w.join(withDevices(node(fmt.Sprint("n", i), 4, 8), "gpu", "", int32(1+i%3)))
		}
		m := &moody{}
		policy := Policy{Name: "moody", Scorer: m, Filters: []Filter{m}}
		p := NewPipeline(policy)
		j := w.submit(ask(job(1, 1), "gpu", 1, 300))
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				w.apply(poise.NodeMarked{
					Name: fmt.Sprint("n", rapid.IntRange(0, w.state.View().Nodes()-1).Draw(t, "node")), Drained: rapid.Bool().Draw(t, "drained"),
				})
			}
			if rapid.IntRange(0, 3).Draw(t, "epoch") == 0 {
				w.epoch()
			}
			m.failing, m.loss = 0, nil
			switch rapid.IntRange(0, 2).Draw(t, "fault") {
			case 0:
				m.failing = rapid.IntRange(1, 2).Draw(t, "call")
			case 1:
				m.loss = &rapid.SliceOfN(rapid.SampledFrom(bad), 1, 1).Draw(t, "loss")[0]
				m.row = uint32(rapid.IntRange(0, w.state.View().Rows()-1).Draw(t, "row"))
			}
			got, err := p.Plan(w.state.View(), j, Pass{Detail: Full})
			if err != nil {
				if got.Node != "" || got.Ranked != nil || got.Reasons != nil {
					t.Fatalf("after a fault: %+v, expected no decision", got)
				}
				continue
			}
			got.Looked, got.Reasons, got.Helps, got.Misses = 0, nil, nil, nil
			clean := policy
			clean.Scorer, clean.Filters = leastIdle{}, nil
			if want := naive(t, &clean, w.state.View(), j); !reflect.DeepEqual(got, want) {
				t.Fatalf("decided %+v, expected %+v", got, want)
			}
		}
	})
}

// Rows are asked about in batches. A fault in a later batch voids the earlier
// ones.
func TestFaultInALaterBatch(t *testing.T) {
	w := newWorld(t)
	const nodes = 2*batchRows + 10
	for i := range nodes {
		w.join(node(fmt.Sprintf("n%05d", i), 4, 8))
	}
	m := &moody{failing: 2}
	p := NewPipeline(Policy{Name: "moody", Scorer: m})
	j := w.submit(job(1, 1))
	if d, err := p.Plan(w.state.View(), j, Pass{Detail: Full}); err == nil || err.Error() != "out of mood" || d.Node != "" {
		t.Errorf("placed on %q with error %v, expected the scorer's error", d.Node, err)
	}
	if m.asked != 2*batchRows {
		t.Errorf("asked about %d rows, expected %d", m.asked, 2*batchRows)
	}
	d := mustPlan(t, p, w.state.View(), j)
	if d.Node != "n00000" || d.Looked != nodes || d.Fitting != nodes {
		t.Errorf("placed on %q, looked at %d, %d fitting; expected n00000, %d and %d", d.Node, d.Looked, d.Fitting, nodes, nodes)
	}
	m.failing, m.asked = 1, 0
	if d := mustPlan(t, p, w.state.View(), j); d.Looked != 0 || m.asked != 0 {
		t.Errorf("looked at %d rows again, expected none: nothing changed", d.Looked)
	}
}
