package balance

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

var (
	_ sched.Scorer    = (*Spread)(nil)
	_ sched.Explainer = (*Spread)(nil)
	_ sched.Scorer    = (*Demand)(nil)
	_ sched.Explainer = (*Demand)(nil)
	_ sched.Epocher   = (*Demand)(nil)
	_ sched.Scorer    = (*Auto)(nil)
	_ sched.Explainer = (*Auto)(nil)
	_ sched.Epocher   = (*Auto)(nil)
)

// B9, B13, B14: whatever amounts and constants, the loss is finite, and the
// columns that explain it add up to it.
func TestDemandIsFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, params := drawWorld(t, extreme), drawParams(t)
		if rapid.IntRange(0, 9).Draw(t, "profile") > 0 {
			w.build(&params)
		}
		d := newDemand(t, params)
		for range 3 {
			j := w.submit(drawRequest(t, extreme))
			rows := w.fitting(j)
			loss, mask := w.score(d, j, rows)
			for i, l := range loss {
				if math.IsNaN(l) || math.IsInf(l, 0) {
					t.Fatalf("loss %v, expected a finite number", l)
				}
				if r := &j.Shape.Request; len(r.Amounts) == 0 && r.Device.Count == 0 && l != 0 {
					t.Fatalf("loss %v without a request, expected 0", l)
				}
				chosen := devicesOf(mask[i])
				if chosen == nil {
					chosen = devicesFor(w.state.View(), rows[i], &j.Shape.Request.Device)[:j.Shape.Request.Device.Count]
				}
				_, columns := d.Explain(w.state.View(), j, rows[i], chosen)
				checkColumns(t, columns, l, 0)
			}
		}
	})
}

// What is remembered is what evaluating afresh gives, through placements, nodes
// that change or leave, and new profiles: to the last bit.
func TestDemandRemembersTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, params := drawWorld(t, everyday), drawParams(t)
		old := newDemand(t, params)
		small := scale{cpu: 16_000, memory: 1 << 34}
		var running []poise.JobID
		check := func(t *rapid.T) {
			j := w.submit(drawRequest(t, small))
			rows := w.fitting(j)
			loss, mask := w.score(old, j, rows)
			freshLoss, freshMask := w.score(newDemand(t, params), j, rows)
			if !slices.Equal(loss, freshLoss) || !slices.Equal(mask, freshMask) {
				t.Fatalf("remembered %v %b, expected %v %b", loss, mask, freshLoss, freshMask)
			}
			if len(rows) == 0 {
				return
			}
			row := rapid.SampledFrom(rows).Draw(t, "row")
			devices := devicesFor(w.state.View(), row, &j.Shape.Request.Device)[:j.Shape.Request.Device.Count]
			w.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: w.state.View().Name(row), Devices: devices}})
			running = append(running, j.ID)
		}
		t.Repeat(map[string]func(*rapid.T){
			"plan":  check,
			"plan2": check,
			"finish": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "job")
				w.apply(poise.JobFinished{Job: running[i]})
				running = slices.Delete(running, i, i+1)
			},
			"profile": func(*rapid.T) { w.build(&params) },
			"join": func(t *rapid.T) {
				if w.state.View().Nodes() > 8 {
					t.Skip("enough nodes")
				}
				w.apply(poise.NodeJoined{Node: drawNode(t, fmt.Sprint("m", w.state.Index()), everyday)})
			},
			"leave": func(t *rapid.T) { w.apply(poise.NodeLeft{Name: drawPresent(t, w)}) },
			"change": func(t *rapid.T) {
				w.apply(poise.NodeChanged{Node: drawNode(t, drawPresent(t, w), everyday)})
			},
		})
	})
}

func drawPresent(t *rapid.T, w *world) string {
	snap := w.state.View()
	var names []string
	for row := range uint32(snap.Rows()) {
		if snap.Present(row) {
			names = append(names, snap.Name(row))
		}
	}
	if len(names) == 0 {
		t.Skip("no node")
	}
	return rapid.SampledFrom(names).Draw(t, "node")
}

// A loss depends on the node and the fleet, not on who joined or was placed
// first: every form gives the same bits, and so does the profile.
func TestLossIgnoresTheOrderOfNodes(t *testing.T) {
	type task struct {
		node    string
		request poise.Request
		devices []uint16
	}
	rapid.Check(t, func(t *rapid.T) {
		params, weights := drawParams(t), Weights{"gpu": 0.5}
		w := newWorld(t)
		var nodes []poise.Node
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			nodes = append(nodes, drawNode(t, fmt.Sprint("n", i), everyday))
			w.apply(poise.NodeJoined{Node: nodes[i]})
		}
		for range rapid.IntRange(0, 12).Draw(t, "running") {
			w.place(t, drawRequest(t, everyday))
		}
		var tasks []task
		for row := range uint32(w.state.View().Rows()) {
			for l := w.state.View().Tasks(row); l != nil; l = l.Next {
				tasks = append(tasks, task{w.state.View().Name(row), l.Task.Shape.Request, l.Task.Devices})
			}
		}
		other := newWorld(t)
		for _, n := range rapid.Permutation(nodes).Draw(t, "joined") {
			other.apply(poise.NodeJoined{Node: n})
		}
		for _, k := range rapid.Permutation(tasks).Draw(t, "placed") {
			other.run(k.node, k.request, k.devices...)
		}
		seen := w.state.Demand()
		for _, x := range []*world{w, other} {
			x.apply(poise.ProfileBuilt{Profiles: BuildProfiles(x.state.View(), seen, &params)})
		}
		asked := drawRequest(t, everyday)
		for name, make := range map[string]func() scorer{
			"spread": func() scorer { return newSpread(t, weights) },
			"demand": func() scorer { return newDemand(t, params) },
			"auto":   func() scorer { return NewAuto(newSpread(t, weights), newDemand(t, params), true) },
		} {
			a, b := lossByName(w, make(), asked), lossByName(other, make(), asked)
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%s: %v, in another order %v", name, a, b)
			}
		}
	})
}

// answer is what a scorer says of a node. Losses that differ print differently.
type answer struct {
	loss float64
	mask uint32
}

func lossByName(w *world, s scorer, r poise.Request) map[string]answer {
	j := w.submit(r)
	rows := w.fitting(j)
	loss, mask := w.score(s, j, rows)
	byName := map[string]answer{}
	for i, row := range rows {
		byName[w.state.View().Name(row)] = answer{loss[i], mask[i]}
	}
	return byName
}

// Devices with one free amount give one loss; the lowest of them is chosen.
func TestDemandChoosesTheLowestDevice(t *testing.T) {
	w, params := newWorld(t), Defaults()
	w.apply(poise.NodeJoined{Node: node("n", 64_000, 1<<36, 4, "")})
	w.run("n", request(0, 0, 1, 600), 1)
	w.run("n", request(0, 0, 1, 600), 3)
	w.submit(request(4000, 0, 1, poise.WholeDevice)) // whole devices are wanted
	w.build(&params)
	_, mask := w.score(newDemand(t, params), w.submit(request(1000, 0, 1, 300)), []uint32{0})
	if mask[0] != 1<<1 {
		t.Errorf("device mask %b, expected device 1, the lowest that is broken already", mask[0])
	}
}

// Where two free amounts give one loss, the lower device is chosen: here no
// expected job can use the node any more, and every loss is 0.
func TestDemandOfEqualAmounts(t *testing.T) {
	f := func(used ...int32) {
		t.Helper()
		w, params := newWorld(t), Defaults()
		w.apply(poise.NodeJoined{Node: node("n", 4000, 1<<36, 2, "")})
		for i, milli := range used {
			w.run("n", request(2000, 0, 1, milli), uint16(i))
		}
		w.build(&params)
		loss, mask := w.score(newDemand(t, params), w.submit(request(0, 0, 1, 100)), []uint32{0})
		if loss[0] != 0 || mask[0] != 1 {
			t.Errorf("loss %v on %b, expected 0 on the first device", loss[0], mask[0])
		}
	}
	f(300, 600)
	f(600, 300)
}

// A kind of device has its own profile: demand for the one leaves the other's
// losses as they are.
func TestDemandOfTwoKinds(t *testing.T) {
	params := Defaults()
	loss := func(npuJobs int) float64 {
		w := newWorld(t)
		w.apply(poise.NodeJoined{Node: node("g", 8000, 1<<34, 2, "")})
		n := node("n", 8000, 1<<34, 2, "")
		n.Devices.Kind = "npu"
		w.apply(poise.NodeJoined{Node: n})
		w.submit(request(2000, 1<<30, 1, 500))
		for range npuJobs {
			r := request(3000, 1<<30, 1, 250)
			r.Device.Kind = "npu"
			w.submit(r)
		}
		w.build(&params)
		l, _ := w.score(newDemand(t, params), w.submit(request(2000, 1<<30, 1, 500)), []uint32{w.row("g")})
		return l[0]
	}
	if a, b := loss(0), loss(9); a != b || a == 0 {
		t.Errorf("loss on the gpu node %v, with npu jobs in the profile %v, expected the same and not 0", a, b)
	}
}

// Scoring is what a decision costs: it allocates nothing.
func TestScoreAllocatesNothing(t *testing.T) {
	w, params := newWorld(t), Defaults()
	for i := range 20 {
		w.apply(poise.NodeJoined{Node: node(fmt.Sprint("n", i), 64_000, 1<<36, int32(i%3)*4, "a")})
	}
	share, whole, cpu := request(1000, 1<<30, 1, 300), request(4000, 1<<30, 2, poise.WholeDevice), request(500, 1<<30, 0, 0)
	jobs := []*state.Job{w.submit(share), w.submit(whole), w.submit(cpu)}
	w.build(&params)
	auto := NewAuto(newSpread(t, nil), newDemand(t, params), true)
	loss, mask := make([]float64, 20), make([]uint32, 20)
	for _, j := range jobs {
		b := &state.Batch{Snap: w.state.View(), Job: j, Rows: w.fitting(j)}
		score := func() {
			if err := auto.Score(b, loss, mask); err != nil {
				t.Fatal(err)
			}
		}
		score()
		if n := testing.AllocsPerRun(100, score); n > 0 {
			t.Errorf("%+v: %v allocations a call, expected none", j.Shape.Request, n)
		}
	}
}
