package sched

import "testing"

// A plugin in a combination that is itself a part of one is prepared, keyed and
// accounted for as any other.
func TestPluginsOfStackedCombinations(t *testing.T) {
	w := newWorld(t)
	w.join(node("a", 4, 8), node("b", 4, 8))
	cluster := &fakePlugin{scores: true, key: true, loss: map[string]float64{"a": 1}}
	tenant := &fakePlugin{scores: true}
	unit := [2]float64{0, 10}
	p := Policy{Name: "base", Scorer: leastIdle{}}
	for _, plugin := range []*fakePlugin{cluster, tenant} {
		var err error
		p, err = p.With(Activation{Name: "p", Plugin: plugin, Weight: 1, LossRange: unit, BaseRange: unit, OnFailure: Reject})
		if err != nil {
			t.Fatal(err)
		}
	}
	pipeline := NewPipeline(p)
	job := w.submit(job(1, 1))
	d := mustPlan(t, pipeline, w.state.View(), job)
	if d.Node != "b" || cluster.prepared != 1 || tenant.prepared != 1 || len(d.Plugins) != 2 || pipeline.Key(job) != string(job.ID) {
		t.Errorf("placed on %s, prepared %d and %d times, plugins %+v, key %q; expected b, once each, two, the job",
			d.Node, cluster.prepared, tenant.prepared, d.Plugins, pipeline.Key(job))
	}
}

// A policy wants the profile if any of its filters, its scorer or what it falls
// back on may go by it.
func TestStackedPolicyWantsProfile(t *testing.T) {
	f := func(base Policy, a Activation, want bool) {
		t.Helper()
		p, err := base.With(a)
		if err != nil || p.WantsProfile != want {
			t.Errorf("%+v on %+v: wants the profile %v, %v, expected %v", a, base, p.WantsProfile, err, want)
		}
	}
	plain, wants := Policy{Scorer: leastIdle{}}, Policy{Scorer: leastIdle{}, WantsProfile: true}
	narrow := Policy{Scorer: leastIdle{}, Filters: []Filter{notBusy{}}, WantsProfile: true}
	scorer, filter := &fakePlugin{scores: true}, &fakePlugin{filters: true}
	f(plain, Activation{Plugin: scorer}, false)
	f(plain, Activation{Plugin: scorer, WantsProfile: true}, true)
	f(wants, Activation{Plugin: scorer, OnFailure: Reject}, false)
	f(wants, Activation{Plugin: scorer}, true) // falls back on what wants it
	f(wants, Activation{Plugin: filter}, true)
	f(narrow, Activation{Plugin: scorer, OnFailure: Reject}, true) // its filter may be what wants it
}

// Who chooses the device of a share, where the scorer leaves the choice to the
// host, stays with the scorer.
func TestStackedPolicySeededDevices(t *testing.T) {
	f := func(a Activation, want bool) {
		t.Helper()
		a.LossRange, a.BaseRange = [2]float64{0, 1}, [2]float64{0, 1}
		p, err := Policy{Scorer: leastIdle{}, SeededDevices: true}.With(a)
		if err != nil || p.SeededDevices != want {
			t.Errorf("%+v: seeded devices %v, %v, expected %v", a, p.SeededDevices, err, want)
		}
	}
	f(Activation{Plugin: &fakePlugin{filters: true}}, true)
	f(Activation{Plugin: &fakePlugin{scores: true}, Weight: 1}, true)
	f(Activation{Plugin: &fakePlugin{scores: true}}, false)
}
