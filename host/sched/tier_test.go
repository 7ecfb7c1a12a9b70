package sched

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// What a job prefers goes before the loss, taints that it had better avoid before
// what it prefers, and both before devices that are kept for others.
func TestTiers(t *testing.T) {
	f := func(want string, p []poise.Preference, tolerations ...poise.Toleration) {
		t.Helper()
		w := newWorld(t)
		spot := poise.Taint{Key: "spot", Effect: poise.PreferNoSchedule}
		for _, n := range []poise.Node{
			{Name: "plain"},
			{Name: "ssd", Labels: []poise.Label{{Key: "disk", Value: "ssd"}}},
			{Name: "ssd-spot", Labels: []poise.Label{{Key: "disk", Value: "ssd"}, {Key: "zone", Value: "east"}}, Taints: []poise.Taint{spot}},
			{Name: "gpu-east", Labels: []poise.Label{{Key: "zone", Value: "east"}}, Devices: poise.Devices{Kind: "gpu", Count: 1}},
			{Name: "hard", Taints: []poise.Taint{spot, {Key: "k", Effect: poise.NoSchedule}}},
		} {
			n.Cluster, n.Capacity = "c", resource.List{{Name: "cpu", Value: 10}}
			w.join(n)
		}
		j := w.submit(poise.Job{Tolerations: tolerations, Pod: &poise.Pod{Cluster: "c", Space: "s", Prefer: p}})
		policy := Policy{Name: "flat", Scorer: constant(0), ProtectDevices: true}
		d := mustPlan(t, NewPipeline(policy), w.state.View(), j)
		var names []string
		for i := range d.Ranked {
			names = append(names, d.Ranked[i].Node)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
	prefer := func(weight int32, key, value string) poise.Preference {
		return poise.Preference{Weight: weight, Term: poise.Term{{Key: key, Op: poise.In, Values: []string{value}}}}
	}
	f("plain ssd gpu-east ssd-spot", nil)
	f("plain ssd ssd-spot gpu-east", nil, poise.Toleration{Key: "spot", Exists: true})
	f("ssd plain gpu-east ssd-spot", []poise.Preference{prefer(1, "disk", "ssd")})
	f("ssd ssd-spot plain gpu-east", []poise.Preference{prefer(1, "disk", "ssd")}, poise.Toleration{Exists: true, Effect: poise.PreferNoSchedule})
	f("gpu-east ssd plain ssd-spot", []poise.Preference{prefer(2, "zone", "east"), prefer(1, "disk", "ssd")})
	f("gpu-east ssd plain ssd-spot", []poise.Preference{prefer(2, "zone", "east"), prefer(1, "disk", "ssd"), prefer(100, "no", "where")})
	// A sum of weights that the tier has no room for is told apart all the same.
	many := []poise.Preference{prefer(100, "zone", "east"), prefer(50, "disk", "ssd")}
	for range 50 {
		many = append(many, prefer(100, "no", "where"))
	}
	f("gpu-east ssd plain ssd-spot", many)
}
