package sched

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// fakePlugin refuses and ranks as its fields say.
type fakePlugin struct {
	filters, scores bool
	refuse          map[string]uint8 // by node
	loss            map[string]float64
	err             error
	key             bool
	epoch           uint64
	prepared, asked int
}

func (p *fakePlugin) Filters() bool { return p.filters }
func (p *fakePlugin) Scores() bool  { return p.scores }

func (p *fakePlugin) Prepare(*state.Snapshot, *state.Job) uint64 {
	p.prepared++
	return p.epoch
}

func (p *fakePlugin) Key(j *state.Job) string {
	if p.key {
		return string(j.ID)
	}
	return ""
}

func (p *fakePlugin) ReasonText(code uint8) string { return fmt.Sprint("because ", code) }

func (p *fakePlugin) Use() poise.PluginUse { return poise.PluginUse{Name: "fake", Rows: p.asked} }

func (p *fakePlugin) Filter(b *state.Batch, reasons []poise.Reason) error {
	for i, row := range b.Rows {
		if code := p.refuse[b.Snap.Name(row)]; code != 0 {
			reasons[i] = poise.NewPolicyReason(0, code)
		}
	}
	return p.err
}

func (p *fakePlugin) Score(b *state.Batch, loss []float64, devices []uint32) error {
	p.asked += len(b.Rows)
	for i, row := range b.Rows {
		loss[i], devices[i] = p.loss[b.Snap.Name(row)], 0
	}
	return p.err
}

func stacked(t *testing.T, a Activation) *Pipeline {
	t.Helper()
	p, err := Policy{Name: "base", Scorer: leastIdle{}}.With(a)
	if err != nil {
		t.Fatal(err)
	}
	return NewPipeline(p)
}

// A plugin narrows and ranks, and nothing else: a node that the native filter
// refuses stays refused (B22).
func TestPluginNarrowsAndRanks(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 4, 8), node("b", 4, 8), node("c", 4, 8), node("small", 1, 8))
	plugin := &fakePlugin{
		filters: true, scores: true, refuse: map[string]uint8{"b": 7, "small": 0},
		loss: map[string]float64{"a": 2, "b": -9, "c": 1, "small": -9},
	}
	p := stacked(t, Activation{Name: "mine", Plugin: plugin})
	d := mustPlan(t, p, w.state.View(), w.submit(job(2, 1)))
	if d.Node != "c" || d.Fitting != 2 || d.Policy != "mine" {
		t.Errorf("%q placed on %s of %d, expected mine, c of 2", d.Policy, d.Node, d.Fitting)
	}
	want := []poise.ReasonCount{
		{Code: poise.CapacityShort, Dim: "cpu", Nodes: 1}, {Code: poise.PolicyRefused, Text: "because 7", Nodes: 1},
	}
	if !slices.Equal(d.Refused, want) {
		t.Errorf("refused %+v, expected %+v", d.Refused, want)
	}
	if len(d.Plugins) != 1 || d.Plugins[0].Rows != 2 || plugin.prepared != 1 {
		t.Errorf("plugins %+v, prepared %d times, expected one of 2 rows, prepared once: it is filter and scorer", d.Plugins, plugin.prepared)
	}
	plugin.refuse = map[string]uint8{"a": 1, "b": 2, "c": 3}
	plugin.epoch++
	d = mustPlan(t, p, w.state.View(), w.submit(job(2, 1)))
	if d.Verdict != poise.FitsNotNow || d.Nearest == nil || d.Nearest.Text != "because 1" {
		t.Errorf("verdict %v, nearest %+v, expected to wait for the policy, with its words", d.Verdict, d.Nearest)
	}
}

// B54: a fault gives what the failure rule says, with the fault beside it.
func TestFailureRules(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 4, 8), node("b", 2, 8))
	f := func(a Activation, wantNode, wantFault string) {
		t.Helper()
		d := mustPlan(t, stacked(t, a), w.state.View(), w.submit(job(1, 1)))
		if d.Node != wantNode || d.Fault != wantFault {
			t.Errorf("placed on %q with fault %q, expected %q and %q", d.Node, d.Fault, wantNode, wantFault)
		}
		if wantNode == "" && (d.Verdict != poise.FitsNotNow || d.Reasons[0].Code() != poise.PolicyFaulted) {
			t.Errorf("verdict %v for %v, expected to wait for the policy", d.Verdict, d.Reasons)
		}
		if len(d.Plugins) == 0 || d.Plugins[0].Name != "fake" {
			t.Errorf("plugins %+v, expected the one that failed", d.Plugins)
		}
	}
	broken := errors.New("trap")
	scorer := func() *fakePlugin { return &fakePlugin{scores: true, err: broken} }
	filter := func() *fakePlugin {
		return &fakePlugin{filters: true, err: broken, refuse: map[string]uint8{"a": 1, "b": 1}}
	}
	f(Activation{Plugin: scorer()}, "b", "trap")                         // by default the base ranks
	f(Activation{Plugin: filter()}, "", "trap")                          // by default the job waits
	f(Activation{Plugin: scorer(), OnFailure: Reject}, "", "trap")       // as told
	f(Activation{Plugin: filter(), OnFailure: UseFallback}, "b", "trap") // a filter that failed keeps
}

// Jobs of one shape that the plugin tells apart are asked about apart.
func TestPluginKeys(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 4, 8), node("b", 4, 8))
	plugin := &fakePlugin{scores: true}
	p := stacked(t, Activation{Plugin: plugin})
	f := func(want int) {
		t.Helper()
		mustPlan(t, p, w.state.View(), w.submit(job(1, 1)))
		if plugin.asked != want {
			t.Errorf("asked about %d rows in all, expected %d", plugin.asked, want)
		}
	}
	f(2)
	f(2)
	plugin.key = true
	f(4)
	f(6)
}

// Losses are scaled by their ranges before the weights: base 0..1000 cores idle.
func TestCombined(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 10, 8), node("b", 2, 8))
	plugin := &fakePlugin{scores: true, loss: map[string]float64{"a": 5, "b": 15}}
	f := func(weight float64, lo, hi float64, want string) {
		t.Helper()
		p := stacked(t, Activation{
			Name: "mine", Plugin: plugin, OnFailure: Reject,
			Weight: weight, BaseRange: [2]float64{0, 10}, LossRange: [2]float64{lo, hi},
		})
		d := mustPlan(t, p, w.state.View(), w.submit(job(1, 1)))
		if d.Node != want || want == "" && !strings.Contains(d.Fault, `loss of node "b": 15, expected 0 to 10`) {
			t.Errorf("weight %v: placed on %q, fault %q, expected %q", weight, d.Node, d.Fault, want)
		}
		if len(d.Plugins) != 1 {
			t.Errorf("plugins %+v, expected one", d.Plugins)
		}
	}
	f(0, 0, 20, "a")   // the plugin's loss alone
	f(0.1, 0, 20, "b") // base 1.0 and 0.2; plugin 0.25 and 0.75
	f(2, 0, 20, "a")
	f(1, 0, 10, "")
	bad := func(weight, lo, hi float64) {
		t.Helper()
		_, err := Policy{Name: "base", Scorer: leastIdle{}}.With(Activation{Plugin: plugin, Weight: weight, BaseRange: [2]float64{0, 1}, LossRange: [2]float64{lo, hi}})
		if poise.KindOf(err) != poise.Invalid {
			t.Errorf("weight %v, range %v to %v: %v, expected to be refused", weight, lo, hi, err)
		}
	}
	bad(-1, 0, 1)
	bad(1, 1, 1)
	bad(2e6, 0, 1)
}
