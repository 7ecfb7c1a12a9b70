package sched

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// perPass is a plugin that says what it used in its latest pass.
type perPass struct {
	fakePlugin
	before int
}

func (p *perPass) Prepare(snap *state.Snapshot, j *state.Job) uint64 {
	p.before = p.asked
	return p.fakePlugin.Prepare(snap, j)
}

func (p *perPass) Use() poise.PluginUse {
	return poise.PluginUse{Name: "fake", Rows: p.asked - p.before, Fuel: 10 * int64(p.asked-p.before)}
}

// What a plugin used for a gang is in its decisions, each row once: for members that
// had a place before one that has none, and for domains that were tried, too.
func TestGangUse(t *testing.T) {
	f := func(want poise.Verdict, topology *poise.Topology, jobs ...poise.Job) {
		t.Helper()
		w := newWorld(t)
		for _, name := range []string{"a", "b", "c", "d"} {
			n := node(name, 4, 8)
			n.Labels = []poise.Label{{Key: "rack", Value: "rack-" + name}}
			w.join(n)
		}
		plugin := &perPass{fakePlugin: fakePlugin{scores: true, loss: map[string]float64{"a": 4, "b": 3, "c": 2, "d": 1}}}
		plan, err := stacked(t, Activation{Name: "mine", Plugin: plugin}).PlanGang(w.state.View(), w.roles(topology, jobs...), Pass{Detail: Brief})
		if err != nil || plan.Decision.Verdict != want {
			t.Fatalf("%v, %v, expected %v", plan.Decision.Verdict, err, want)
		}
		decisions := plan.Members
		if decisions == nil {
			decisions = []poise.Decision{plan.Decision}
		}
		rows, fuel := 0, int64(0)
		for i := range decisions {
			if len(decisions[i].Plugins) != 1 {
				t.Fatalf("%+v, expected one plugin", decisions[i].Plugins)
			}
			rows += decisions[i].Plugins[0].Rows
			fuel += decisions[i].Plugins[0].Fuel
		}
		if rows != plugin.asked || fuel != 10*int64(plugin.asked) || rows < 4 {
			t.Errorf("%d rows and %d of fuel in the decisions, %d were asked about", rows, fuel, plugin.asked)
		}
	}
	pack := &poise.Topology{Key: "rack", Mode: poise.TopologyPack}
	spread := &poise.Topology{Key: "rack", Mode: poise.TopologySpread, MaxSkew: 1}
	f(poise.Placed, nil, job(3, 1), job(3, 1), job(2, 1))
	f(poise.NeverFits, nil, job(4, 1), job(3, 1), job(3, 1), job(3, 1), job(3, 1), job(1, 4))
	f(poise.Placed, pack, job(2, 1), job(1, 1))
	f(poise.NeverFits, pack, job(4, 1), job(1, 1))
	f(poise.Placed, spread, job(2, 1), job(2, 1), job(1, 1), job(1, 1), job(1, 1))
}
