package shadow

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

// decision is one by which a job goes to the first of the nodes, each with a
// loss, or nowhere.
func decision(nodes []string, losses ...float64) *poise.Decision {
	d := &poise.Decision{Job: "j", Verdict: poise.FitsNotNow}
	for i, n := range nodes {
		d.Ranked = append(d.Ranked, poise.Ranked{Node: n, Loss: losses[i]})
	}
	if len(nodes) > 0 {
		d.Verdict, d.Node = poise.Placed, nodes[0]
	}
	return d
}

// single makes what is compared of a decision about a single job.
func single(d *poise.Decision) *sched.GangPlan { return &sched.GangPlan{Decision: *d} }

func TestDifference(t *testing.T) {
	live, would := decision([]string{"a", "b"}, 1, 3), decision([]string{"b", "a"}, 0.5, 0.75)
	if Same(single(live), single(would)) || !Same(single(live), single(live)) {
		t.Error("the same are not, or others are")
	}
	d := NewDifference(7, 8, "job", single(live), single(would))
	if cost, ok := d.Cost(); cost != 2 || !ok {
		t.Errorf("cost %v %v, expected 2", cost, ok)
	}
	if gain, ok := d.Gain(); gain != 0.25 || !ok {
		t.Errorf("gain %v %v, expected 0.25", gain, ok)
	}
	// A node that a policy refuses has no loss, and the reason stands there.
	would = decision([]string{"b"}, 0.5)
	if Knows(would, "a") {
		t.Error("knows what it was not told")
	}
	would.Refusals = []poise.Refusal{{Node: "a", Code: poise.PolicyRefused, Text: "too old"}, {Node: "c", Code: poise.IdleShort, Dim: "cpu"}}
	d = NewDifference(7, 8, "job", single(live), single(would))
	if _, ok := d.Gain(); ok || d.WouldOnLive.Refused != "too old" || !Knows(would, "a") || opinionOn(would, "c").Refused != "not enough idle: cpu" {
		t.Errorf("%+v", d)
	}
	// Other devices of one node are another choice.
	x, y := decision([]string{"a"}, 1), decision([]string{"a"}, 1)
	x.Devices, y.Devices = []uint16{0}, []uint16{1}
	if Same(single(x), single(y)) {
		t.Error("device 0 is device 1")
	}
}

// The sums add up, and what is kept is bounded, whatever comes.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tally Tally
		total := rapid.IntRange(0, 400).Draw(t, "decisions")
		agreed, verdict := int64(0), int64(0)
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		loss := rapid.Float64Range(-1e3, 1e3)
		for i := range total {
			draw := func(label string) *sched.GangPlan {
				if rapid.IntRange(0, 4).Draw(t, label) == 0 {
					return single(decision(nil))
				}
				return single(decision([]string{name.Draw(t, label), "z"}, loss.Draw(t, label), loss.Draw(t, label)))
			}
			c := Compared{Index: uint64(i), Shape: uint64(rapid.IntRange(0, 1000).Draw(t, "shape")), Live: draw("live"), Would: draw("would"), Fuel: 5}
			if rapid.IntRange(0, 3).Draw(t, "faults") == 0 {
				c.Faults = map[string]int64{"trap": 1}
			}
			tally.Add(&c)
			if Same(c.Live, c.Would) {
				agreed++
			}
			if c.Live.Decision.Verdict == c.Would.Decision.Verdict {
				verdict++
			}
		}
		if tally.Decisions != int64(total) || tally.Agreed != agreed || tally.SameVerdict != verdict || tally.Fuel != 5*int64(total) || tally.Faults["trap"] != tally.Faulted {
			t.Fatalf("%+v, expected %d decisions, %d agreed, %d of one verdict", tally, total, agreed, verdict)
		}
		if len(tally.Latest) > MaxLatest || len(tally.Largest) > MaxLargest || len(tally.Cases) > 4*maxCases || len(tally.Shapes) > maxShapes {
			t.Fatalf("%d latest, %d largest, %d cases, %d shapes", len(tally.Latest), len(tally.Largest), len(tally.Cases), len(tally.Shapes))
		}
		for i := 1; i < len(tally.Largest); i++ {
			if tally.Largest[i-1].weight() < tally.Largest[i].weight() {
				t.Fatalf("largest %d weighs %v, the next %v", i-1, tally.Largest[i-1].weight(), tally.Largest[i].weight())
			}
		}
		// It is kept as JSON.
		text, err := json.Marshal(&tally)
		if err != nil {
			t.Fatal(err)
		}
		var again Tally
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, tally) && len(tally.Latest) > 0 && !reflect.DeepEqual(again.Latest, tally.Latest) {
			t.Fatalf("%v: %+v, expected %+v", err, again, tally)
		}
	})
}

func TestSpread(t *testing.T) {
	var s Spread
	for _, x := range []float64{-1e-18, 0, 1e-6, 2e-6, 11} {
		s.Add(x)
	}
	if s.Count != 5 || s.Most != 11 || s.Bands[0] != 2 || s.Bands[1] != 1 || s.Bands[2] != 1 || s.Bands[len(s.Bands)-1] != 1 {
		t.Errorf("%+v", s)
	}
}

func TestCases(t *testing.T) {
	f := func(c Compared, want string) {
		t.Helper()
		tally := Tally{Shapes: []uint64{1}}
		c.Shape = 1
		tally.Add(&c)
		got := ""
		if len(tally.Cases) > 0 {
			got = tally.Cases[0].Why
		}
		if got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	clear := single(decision([]string{"a", "b"}, 0, 1))
	near := single(decision([]string{"a", "b"}, 1, 1+1e-9))
	f(Compared{Live: clear, Would: clear}, "")
	f(Compared{Live: clear, Would: near}, NearTie)
	f(Compared{Live: clear, Would: single(decision([]string{"b", "a"}, 0, 1))}, Differs)
	f(Compared{Live: clear, Would: clear, Faults: map[string]int64{"fuel": 1}}, Faults)
}

// A figure that is the bound passes, one beside it does not.
func TestGate(t *testing.T) {
	f := func(g Gate, agreed, decisions, faulted int64, want string) {
		t.Helper()
		err := g.Check(&Tally{Decisions: decisions, Agreed: agreed, Faulted: faulted})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || poise.KindOf(err) != poise.Conflict) {
			t.Errorf("%+v with %d of %d, %d faults: %v, expected %q", g, agreed, decisions, faulted, err, want)
		}
	}
	g := Gate{Agreement: 0.95, Decisions: 1000}
	f(g, 950, 1000, 0, "")
	f(g, 949, 1000, 0, "agreement: 0.949 (949 of 1000), expected 0.95 at least")
	f(g, 999, 999, 0, "decisions: 999 compared, expected 1000 at least")
	f(g, 1000, 1000, 1, "faults: in 1 decisions, expected 0 at most")
	f(Gate{Agreement: 0.95, Faults: -1}, 10, 10, 10, "")
	f(Gate{}, 0, 0, 0, "")
	f(Gate{Agreement: 0.1}, 0, 0, 0, "agreement: 0 (0 of 0)")
	f(g, 0, 0, 2, "decisions: 0 compared, expected 1000 at least; agreement")
	for n := int64(1); n <= 100; n++ { // each hundredth is met exactly
		var bound float64
		if _, err := fmt.Sscan(fmt.Sprintf("%d.%02d", n/100, n%100), &bound); err != nil {
			t.Fatal(err)
		}
		f(Gate{Agreement: bound}, n*7, 700, 0, "")
		f(Gate{Agreement: bound}, n*7-1, 700, 0, "agreement")
	}
	for _, g := range []Gate{{Agreement: 1.1}, {Agreement: -0.1}, {Decisions: -1}} {
		if g.Validate() == nil {
			t.Errorf("%+v: valid", g)
		}
	}
}
