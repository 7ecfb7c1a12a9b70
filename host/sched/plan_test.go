package sched

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
	"pgregory.net/rapid"
)

// idleBalance is the default policy.
func idleBalance(t fataler) Policy {
	t.Helper()
	spread, err := balance.NewSpread(nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	demand, err := balance.NewDemand(balance.Defaults())
	if err != nil {
		t.Fatalf("%v", err)
	}
	return Policy{Name: "idle-balance", Scorer: balance.NewAuto(spread, demand, true), ProtectDevices: true}
}

// checkExplained fails unless the short list explains the decision: the chosen
// node stands first, no other has a smaller loss, and the columns of each add up
// to its loss.
func checkExplained(t fataler, d *poise.Decision) {
	t.Helper()
	if d.Verdict != poise.Placed {
		if len(d.Ranked) > 0 || d.Node != "" || (d.Nearest == nil) != (len(d.Refused) == 0) {
			t.Fatalf("not placed, but %+v", d)
		}
		return
	}
	if len(d.Ranked) != min(d.Fitting, ShortList) || d.Nearest != nil {
		t.Fatalf("%d ranked and nearest miss %v, expected %d and none", len(d.Ranked), d.Nearest, min(d.Fitting, ShortList))
	}
	first := &d.Ranked[0]
	if first.Node != d.Node || !slices.Equal(first.Devices, d.Devices) {
		t.Fatalf("placed on %s %v, but first is %s %v", d.Node, d.Devices, first.Node, first.Devices)
	}
	for i := range d.Ranked {
		r := &d.Ranked[i]
		if r.Tier < first.Tier || r.Tier == first.Tier && r.Loss < first.Loss {
			t.Fatalf("%s is ranked before %s: %+v", first.Node, r.Node, d.Ranked)
		}
		sum := 0.0
		for k := range r.Columns {
			sum += r.Columns[k].Factor * (r.Columns[k].M1 - r.Columns[k].M2)
		}
		if len(r.Columns) > 0 && poise.RoundLoss(sum) != r.Loss {
			t.Fatalf("the columns of %s give %v, expected its loss %v", r.Node, sum, r.Loss)
		}
	}
}

// task is a job that runs in a world that is built twice.
type task struct {
	node    string
	job     poise.Job
	devices []uint16
}

// B19, B20: who joined or was placed first does not matter, nor how often one
// asks.
func TestDecisionIgnoresTheOrderOfNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := newWorld(t)
		var nodes []poise.Node
		for i := range rapid.IntRange(1, 20).Draw(t, "nodes") {
			nodes = append(nodes, drawNode(t, fmt.Sprint("n", i)))
		}
		first.join(nodes...)
		jobs := rapid.SliceOfN(rapid.Custom(drawJob), 1, 12).Draw(t, "jobs")
		placing := NewPipeline(Policy{Name: "first", Scorer: leastIdle{}})
		var tasks []task
		for _, j := range jobs {
			d := mustPlan(t, placing, first.state.View(), first.submit(j))
			if d.Verdict == poise.Placed {
				first.commit(&d)
				tasks = append(tasks, task{d.Node, j, d.Devices})
			}
		}
		second := newWorld(t)
		for _, n := range rapid.Permutation(nodes).Draw(t, "joined") {
			second.join(n)
		}
		for _, k := range rapid.Permutation(tasks).Draw(t, "placed") {
			second.run(k.node, k.job, k.devices...)
		}
		policy := idleBalance(t)
		policy.Ties = Ties(rapid.IntRange(0, 2).Draw(t, "ties"))
		policy.Seed = 5
		asked := drawJob(t)
		asked.ID = "asked"
		seen := first.state.Demand()
		var decisions []poise.Decision
		for _, w := range []*world{first, second} {
			params := balance.Defaults()
			w.apply(poise.ProfileBuilt{Profiles: balance.BuildProfiles(w.state.View(), seen, &params)})
			p := policy
			p.Scorer = idleBalance(t).Scorer
			d := mustPlan(t, NewPipeline(p), w.state.View(), w.submit(asked))
			checkExplained(t, &d)
			d.Version, d.Reasons = 0, nil
			decisions = append(decisions, d)
		}
		if !reflect.DeepEqual(decisions[0], decisions[1]) {
			t.Fatalf("decided\n%+v\nin another order\n%+v", decisions[0], decisions[1])
		}
	})
}

// B20: one snapshot, a hundred times, by a pipeline that knows it and by new
// ones.
func TestDecisionIsTheSameEveryTime(t *testing.T) {
	for _, ties := range []Ties{ByName, Seeded, Published} {
		w := newWorld(t)
		for i := range 20 {
			w.join(withDevices(node(fmt.Sprint("n", i), 16, 64), "gpu", "", 4))
		}
		j := w.submit(ask(job(1, 1), "gpu", 1, 500))
		policy := Policy{Name: "test", Scorer: leastIdle{}, Ties: ties, Seed: 9, Order: map[string]uint64{"n3": 1}}
		old := NewPipeline(policy)
		want := mustPlan(t, old, w.state.View(), j)
		for range 100 {
			for _, p := range []*Pipeline{old, NewPipeline(policy)} {
				d := mustPlan(t, p, w.state.View(), j)
				d.Looked = want.Looked
				if !reflect.DeepEqual(d, want) {
					t.Fatalf("%v: decided %+v, expected %+v", ties, d, want)
				}
			}
		}
	}
}

// B19: two idle nodes and eight jobs. By name the first node is taken each time,
// wherever it stands in the list; seeded ties spread the jobs evenly.
func TestTiesOfIdleNodes(t *testing.T) {
	onA := func(ties Ties, seed uint64, names ...string) int {
		w := newWorld(t)
		for _, name := range names {
			w.join(node(name, 16, 64))
		}
		p := NewPipeline(Policy{Name: "test", Scorer: constant(0), Ties: ties, Seed: seed})
		n := 0
		for range 8 {
			d := mustPlan(t, p, w.state.View(), w.submit(job(1, 0)))
			w.commit(&d)
			if d.Node == "a" {
				n++
			}
		}
		return n
	}
	if x, y := onA(ByName, 0, "a", "b"), onA(ByName, 0, "b", "a"); x != 8 || y != 8 {
		t.Errorf("by name %d and %d of 8 jobs on a, expected 8 and 8", x, y)
	}
	const seeds = 400
	total, distinct := 0, map[int]bool{}
	for seed := range uint64(seeds) {
		n := onA(Seeded, seed, "a", "b")
		if again := onA(Seeded, seed, "b", "a"); again != n {
			t.Errorf("seed %d: %d of 8 jobs on a, listed the other way round %d", seed, n, again)
		}
		total += n
		distinct[n] = true
	}
	// 3200 fair coins deviate by less than 4 % in all but one case of a million.
	if mean := float64(total) / seeds; math.Abs(mean-4) > 0.16*2 || len(distinct) < 5 {
		t.Errorf("seeded: %v of 8 jobs on a in the mean, expected 4; different counts %v", mean, distinct)
	}
}

// whim is a filter and scorer that answers anything it may.
type whim struct{ t *rapid.T }

func (w whim) Filter(b *state.Batch, reasons []poise.Reason) error {
	for i := range b.Rows {
		if rapid.IntRange(0, 3).Draw(w.t, "refuse") == 0 {
			reasons[i] = busy
		}
	}
	return nil
}

func (w whim) Score(b *state.Batch, loss []float64, devices []uint32) error {
	for i := range b.Rows {
		loss[i] = rapid.SampledFrom([]float64{-math.MaxFloat64, -1, 0, 1, math.MaxFloat64}).Draw(w.t, "loss")
		devices[i] = rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32Range(0, 15)).Draw(w.t, "mask")
	}
	return nil
}

// B22 and invariant 2: whatever a policy answers, no job goes where it does not
// fit, devices included. A policy narrows and ranks, no more.
func TestNoPolicyPlacesWhatDoesNotFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
			w.join(drawNode(t, fmt.Sprint("n", i)))
		}
		p := NewPipeline(Policy{Name: "whim", Filters: []Filter{whim{t}}, Scorer: whim{t}})
		for range rapid.IntRange(1, 12).Draw(t, "jobs") {
			j := w.submit(drawJob(t))
			d, err := p.Plan(w.state.View(), j, Pass{Detail: Full})
			if err != nil || d.Verdict != poise.Placed {
				continue
			}
			row, _ := w.state.Row(d.Node)
			if code, dim := refusedByRule(w.state.View(), row, j.Shape); code != poise.Fits {
				t.Fatalf("%+v on %s: %v %s", j.Shape.Request, d.Node, code, dim)
			}
			w.commit(&d) // the state checks amounts and devices once more
		}
	})
}

// B9: amounts near the bounds of an int64 are placed, and the losses are in
// their range.
func TestHugeAmounts(t *testing.T) {
	w := newWorld(t)
	huge := func(name string, cpu, memory int64) poise.Node {
		return poise.Node{Name: name, Capacity: amounts(cpu, memory)}
	}
	w.join(huge("a", 9_300_000_000_000_000, 7<<60), huge("b", math.MaxInt64, math.MaxInt64), node("c", 64, 256))
	p := NewPipeline(idleBalance(t))
	for range 4 {
		d := mustPlan(t, p, w.state.View(), w.submit(poise.Job{Request: poise.Request{Amounts: amounts(4_000_000_000_000_000, 3<<60)}}))
		checkExplained(t, &d)
		for _, r := range d.Ranked {
			if !(r.Loss >= -1 && r.Loss <= 1) {
				t.Errorf("loss of %s: %v, expected -1 to 1", r.Node, r.Loss)
			}
		}
		if d.Verdict == poise.Placed {
			w.commit(&d)
		}
	}
	// Two on each of a and b by memory: 7Ei and not quite 8Ei hold two of 3Ei.
	if d := mustPlan(t, p, w.state.View(), w.submit(job(0, 1<<30))); d.Verdict != poise.Placed {
		t.Errorf("%v, expected that 1Ei of memory is left", d.Verdict)
	}
	d := mustPlan(t, p, w.state.View(), w.submit(job(0, 3<<30)))
	if d.Verdict != poise.FitsNotNow || d.Nearest.Node != "b" || d.Nearest.Have != math.MaxInt64-6<<60 {
		t.Errorf("%v, nearest %+v, expected that 1 byte less than 2Ei is left on b", d.Verdict, d.Nearest)
	}
}

// A dimension that a job asked for when nobody had it is named when somebody
// has: what was said of the other nodes before is said anew.
func TestDimensionDeclaredLater(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 4, 8), node("b", 4, 8))
	wants := poise.Job{Request: poise.Request{Amounts: resource.List{{Name: "fpga", Value: 1000}}}}
	p, j := NewPipeline(idleBalance(t)), w.submit(wants)
	want := []poise.ReasonCount{{Code: poise.CapacityShort, Dim: "fpga", Nodes: 2}}
	if d := mustPlan(t, p, w.state.View(), j); !slices.Equal(d.Refused, want) || d.Reasons[0].Dim() != poise.Undeclared {
		t.Errorf("refused %v with reasons %v, expected %v, undeclared", d.Refused, d.Reasons, want)
	}
	n := node("a", 4, 8)
	n.Capacity = slices.Insert(n.Capacity, 1, resource.Amount{Name: "fpga", Value: 500})
	w.apply(poise.NodeChanged{Node: n})
	if d := mustPlan(t, p, w.state.View(), j); !slices.Equal(d.Refused, want) || !slices.Equal(d.Reasons, []poise.Reason{poise.NewReason(poise.CapacityShort, 2)}) {
		t.Errorf("refused %v with reasons %v, expected %v in dimension 2", d.Refused, d.Reasons, want)
	}
}

// The published order holds on a snapshot from before a node left, too.
func TestPublishedOrderOnAnOlderSnapshot(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 4, 8), node("b", 4, 8), node("c", 4, 8))
	p := NewPipeline(Policy{Name: "test", Scorer: constant(0), Ties: Published, Order: map[string]uint64{"a": 3, "b": 1, "c": 2}})
	before := w.state.Snapshot()
	w.apply(poise.NodeLeft{Name: "c"})
	after := w.state.Snapshot()
	w.join(node("d", 4, 8)) // takes the row of c, has no number
	j := w.submit(job(1, 1))
	f := func(snap *state.Snapshot, want string) {
		t.Helper()
		if d := mustPlan(t, p, snap, j); d.Node != want {
			t.Errorf("placed on %s, expected %s", d.Node, want)
		}
	}
	f(after, "b")
	f(before, "b")
	f(w.state.View(), "d")
	f(after, "b")
	f(before, "b")
}

// What a filter refused in one epoch it may keep in the next.
func TestFilterFollowsTheEpoch(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 8, 8), node("b", 8, 8), node("c", 1, 8))
	for range 2 {
		w.run("a", job(1, 1))
	}
	p, j := NewPipeline(Policy{Name: "test", Scorer: leastIdle{}, Filters: []Filter{notBusy{}}}), w.submit(job(2, 1))
	f := func(want string, fitting, looked int) {
		t.Helper()
		if d := mustPlan(t, p, w.state.View(), j); d.Node != want || d.Fitting != fitting || d.Looked != looked {
			t.Errorf("placed on %s, %d fitting, looked at %d; expected %s, %d, %d", d.Node, d.Fitting, d.Looked, want, fitting, looked)
		}
	}
	f("a", 2, 3)
	w.epoch()
	f("b", 1, 2) // c stays too small, whatever the epoch
	w.epoch()
	f("a", 2, 2)
}

// A decision looks at what changed, and a decision about nothing new costs no
// memory.
func TestPlanLooksAtWhatChanged(t *testing.T) {
	w := newWorld(t)
	for i := range 500 {
		w.join(node(fmt.Sprint("n", i), 16, 64))
	}
	p, j := NewPipeline(idleBalance(t)), w.submit(job(1, 1))
	f := func(what string, want int) {
		t.Helper()
		if d := mustPlan(t, p, w.state.View(), j); d.Looked != want {
			t.Errorf("%s: looked at %d rows, expected %d", what, d.Looked, want)
		}
	}
	f("first", 500)
	f("again", 0)
	w.run("n7", job(2, 2))
	f("one placement", 1)
	w.run("n7", job(2, 2))
	w.run("n8", job(2, 2))
	f("three changes of two rows", 2)
	w.apply(poise.NodeLeft{Name: "n9"})
	f("a node left", 1)
	w.join(node("n9", 16, 64))
	f("and came back", 1)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := p.Plan(w.state.View(), j, Pass{Detail: Brief}); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations, expected none", n)
	}
}

// Brief leaves out what explains, and decides the same.
func TestBriefDecidesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(0, 8).Draw(t, "nodes") {
			w.join(drawNode(t, fmt.Sprint("n", i)))
		}
		j := w.submit(drawJob(t))
		p := NewPipeline(idleBalance(t))
		full := mustPlan(t, p, w.state.View(), j)
		brief, err := p.Plan(w.state.View(), j, Pass{Detail: Brief})
		if err != nil {
			t.Fatal(err)
		}
		full.Looked, full.Refused, full.Nearest, full.Misses, full.Helps, full.Ranked = 0, nil, nil, nil, nil, nil
		if !reflect.DeepEqual(brief, full) {
			t.Fatalf("decided %+v, in full %+v", brief, full)
		}
	})
}
