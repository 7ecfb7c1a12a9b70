package balance

import (
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"pgregory.net/rapid"
)

func drawWeights(t *rapid.T) Weights {
	w := Weights{}
	for _, name := range []string{"cpu", "fpga", "memory", "gpu", "npu"} {
		switch rapid.IntRange(0, 2).Draw(t, "weight of "+name) {
		case 1:
			w[name] = rapid.SampledFrom([]float64{0, minWeight, 1, maxWeight}).Draw(t, name)
		case 2:
			w[name] = rapid.Float64Range(minWeight, maxWeight).Draw(t, name)
		}
	}
	return w
}

// B9, B13, B14: whatever the amounts, the loss is a number in [-1, 1].
func TestSpreadStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewSpread(drawWeights(t))
		if err != nil {
			t.Skip(err)
		}
		s.Unnormalised = rapid.Bool().Draw(t, "unnormalised")
		w := drawWorld(t, extreme)
		for range 3 {
			j := w.submit(drawRequest(t, extreme))
			rows := w.fitting(j)
			loss, devices := w.score(s, j, rows)
			for i, l := range loss {
				if !(l >= -1 && l <= 1) {
					t.Fatalf("loss %v, expected -1 to 1", l)
				}
				if devices[i] != 0 {
					t.Fatalf("device mask %b, expected that the host chooses", devices[i])
				}
				_, columns := s.Explain(w.state.View(), j, rows[i], nil)
				checkColumns(t, columns, l, 1)
			}
		}
	})
}

// checkColumns fails unless the columns add up to the loss, or are none where
// there is nothing to score: then the loss is neutral.
func checkColumns(t fataler, columns []poise.Column, loss, neutral float64) {
	t.Helper()
	sum := neutral
	if len(columns) > 0 {
		sum = 0
	}
	for i := range columns {
		sum += columns[i].Factor * (columns[i].M1 - columns[i].M2)
	}
	if poise.RoundLoss(sum) != poise.RoundLoss(loss) {
		t.Fatalf("the columns give the loss %v, expected %v", sum, loss)
	}
}

// The definition in one line: with a scalar balance and weights normalised to
// 1, the loss is b - b', and 0 where nothing is idle.
func TestSpreadIsGainInBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSpread(t, Weights{"fpga": rapid.SampledFrom([]float64{0, 0.5, 1, 3}).Draw(t, "weight")})
		w := drawWorld(t, everyday)
		j := w.submit(drawRequest(t, everyday))
		rows := w.fitting(j)
		loss, _ := w.score(s, j, rows)
		for i, row := range rows {
			_, columns := s.Explain(w.state.View(), j, row, nil)
			if len(columns) == 0 {
				continue
			}
			mean, b, bPred := 0.0, columns[0].Before, columns[0].After
			for k := range columns {
				mean += columns[k].Factor * columns[k].Weight
			}
			switch {
			case math.Abs(mean) < 1e-9: // nothing is idle
				if loss[i] != 0 {
					t.Fatalf("nothing is idle: loss %v, expected 0", loss[i])
				}
			case math.Abs(mean-1) > 1e-9 || math.Abs(loss[i]-(b-bPred)) > 1e-9:
				t.Fatalf("mean weight %v and loss %v, expected 1 and %v", mean, loss[i], b-bPred)
			}
		}
	})
}

func spreadLoss(t *testing.T, weights Weights, n poise.Node, running, r poise.Request) float64 {
	t.Helper()
	w := newWorld(t)
	w.apply(poise.NodeJoined{Node: n})
	w.run("n", running)
	loss, _ := w.score(newSpread(t, weights), w.submit(r), []uint32{0})
	return loss[0]
}

// The smallest weight beside the largest, with nothing idle but what weighs
// least: its idle weight is the largest there is.
func TestSpreadOfTheLeastWeight(t *testing.T) {
	n := node("n", 4000, 4*mib, 0, "")
	l := spreadLoss(t, Weights{"cpu": minWeight, "memory": maxWeight}, n, request(0, 4*mib, 0, 0), request(4000, 0, 0, 0))
	if !(l >= -1 && l < 0) {
		t.Errorf("loss %v, expected below 0: both dimensions are full", l)
	}
}

func TestSpreadEdges(t *testing.T) {
	f := func(weights Weights, n poise.Node, running, r poise.Request, want float64) {
		t.Helper()
		if got := spreadLoss(t, weights, n, running, r); math.Abs(got-want) > 1e-15 {
			t.Errorf("loss %v, expected %v", got, want)
		}
	}
	none := request(0, 0, 0, 0)
	n := node("n", 4000, 4*mib, 0, "")
	f(nil, n, none, none, 0)                                                  // B14: a job without a request changes nothing
	f(nil, n, none, request(2000, 0, 0, 0), 0.25)                             // cpu at 1/2, memory at 0: a deviation of 1/4
	f(nil, n, request(2000, 0, 0, 0), request(0, 2*mib, 0, 0), -0.25)         // and evened out again
	f(nil, n, request(4000, 4*mib, 0, 0), none, 0)                            // nothing is idle
	f(Weights{"cpu": 0}, n, none, request(2000, 0, 0, 0), 0)                  // B14: only unscored amounts
	f(Weights{"cpu": 3}, n, none, request(2000, 0, 0, 0), 0.5*math.Sqrt(3)/4) // sqrt(1/4 * 3/4) * 1/2
	f(nil, node("n", 0, 0, 0, ""), none, none, 1)                             // B15: nothing to score by ranks last
	f(Weights{"memory": 0}, node("n", 0, 4*mib, 0, ""), none, none, 1)        // nor here
	f(nil, node("n", 0, 4*mib, 0, ""), none, request(0, mib, 0, 0), 0)        // one dimension is always in balance
}

// B7: a node that shrank below what runs on it counts as full.
func TestSpreadOfAShrunkNode(t *testing.T) {
	w := newWorld(t)
	w.apply(poise.NodeJoined{Node: node("n", 8000, 8*mib, 0, "")})
	w.run("n", request(6000, 2*mib, 0, 0))
	w.apply(poise.NodeChanged{Node: node("n", 4000, 8*mib, 0, "")})
	s := newSpread(t, nil)
	j := w.submit(request(0, 2*mib, 0, 0))
	loss, _ := w.score(s, j, []uint32{0})
	_, columns := s.Explain(w.state.View(), j, 0, nil)
	// cpu 1 and memory 1/4, then 1/2: the deviation falls from 3/8 to 1/4.
	if loss[0] != -0.125 || columns[0].Weight != 0 {
		t.Errorf("loss %v with weight %v of cpu, expected -0.125 and 0", loss[0], columns[0].Weight)
	}
}

// A dimension that a later node declares counts from then on, and so does a
// kind of device.
func TestSpreadSeesWhatIsDeclaredLater(t *testing.T) {
	w, s := newWorld(t), newSpread(t, nil)
	w.apply(poise.NodeJoined{Node: node("a", 4000, 4*mib, 0, "")})
	j := w.submit(request(1000, 0, 0, 0))
	w.score(s, j, []uint32{0})
	n := node("b", 4000, 4*mib, 2, "")
	n.Capacity = append(n.Capacity, resource.Amount{Name: "storage", Value: 1 << 30})
	w.apply(poise.NodeJoined{Node: n})
	loss, _ := w.score(s, j, []uint32{0, 1})
	fresh, _ := w.score(newSpread(t, nil), j, []uint32{0, 1})
	_, columns := s.Explain(w.state.View(), j, 1, nil)
	if !slices.Equal(loss, fresh) || len(columns) != 4 {
		t.Errorf("losses %v with %d columns, expected %v with 4", loss, len(columns), fresh)
	}
}

func TestWeightsValidate(t *testing.T) {
	f := func(w Weights, want string) {
		t.Helper()
		if _, err := NewSpread(w); errorText(err) != want || err != nil && poise.KindOf(err) != poise.Invalid {
			t.Errorf("%v: %v, expected %s", w, err, want)
		}
	}
	f(nil, "")
	f(Weights{"cpu": 0, "gpu": maxWeight}, "")
	f(Weights{"memory": 0}, "")
	f(Weights{"gpu": -1, "cpu": 1}, "resource weights: gpu: -1, expected 0 or 1e-06 to 1e+06")
	f(Weights{"cpu": math.SmallestNonzeroFloat64}, "resource weights: cpu: 5e-324, expected 0 or 1e-06 to 1e+06")
	f(Weights{"cpu": math.NaN()}, "resource weights: cpu: NaN, expected 0 or 1e-06 to 1e+06")
	f(Weights{"cpu": math.Inf(1)}, "resource weights: cpu: +Inf, expected 0 or 1e-06 to 1e+06")
	f(Weights{"cpu": math.MaxInt32}, "resource weights: cpu: 2.147483647e+09, expected 0 or 1e-06 to 1e+06") // B10
	f(Weights{"cpu": 0, "memory": 0}, "resource weights: cpu and memory: both 0, expected at least one above 0")
	f(Weights{"b": -1, "a": -2}, "resource weights: a: -2, expected 0 or 1e-06 to 1e+06") // the same one every time
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The first worked example with idle weights as they are: u = (1/2, 1/4), so
// w = (1/2, 3/4), b = 7/8, b' = 13/16 and L = (1/2+3/4)/2 * (7/8-13/16).
func TestSpreadUnnormalised(t *testing.T) {
	w := newWorld(t)
	w.apply(poise.NodeJoined{Node: node("a", 8000, 16<<30, 0, "")})
	w.run("a", request(4000, 4<<30, 0, 0))
	s := newSpread(t, nil)
	s.Unnormalised = true
	j := w.submit(request(2000, 2<<30, 0, 0))
	loss, _ := w.score(s, j, []uint32{w.row("a")})
	if want := 0.0390625; loss[0] != want {
		t.Errorf("loss %v, expected %v", loss[0], want)
	}
	_, columns := s.Explain(w.state.View(), j, w.row("a"), nil)
	checkColumns(t, columns, loss[0], 1)
}
