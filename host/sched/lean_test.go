package sched

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// Where a pod of app "x" would rather go, best first, with what is near and how
// uneven it would be; "" for a pod that does not mind.
func TestPodLean(t *testing.T) {
	f := func(want string, p poise.Pod, there ...any) {
		t.Helper()
		w := podWorld(t, there...)
		p.Cluster, p.Space = "c", "s"
		j := w.submit(poise.Job{Labels: []poise.Label{{Key: "app", Value: "x"}}, Pod: &p, Selectors: []poise.Selector{{Key: "host", Op: poise.NotIn, Values: []string{"z"}}}})
		lean := NewPodLean(w.state.View(), w.state.PodKinds(), j)
		pass := Pass{Detail: Full}
		if lean != nil {
			pass.Bars = []Bar{lean}
		}
		pipeline := NewPipeline(Policy{Name: "flat", Scorer: constant(0)})
		d, err := pipeline.Plan(w.state.View(), j, pass)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range d.Ranked {
			text := r.Node
			if r.Near != 0 {
				text += fmt.Sprintf("%+d", r.Near)
			}
			if r.Uneven > 1000 {
				text += "-"
			} else if r.Uneven > 0 {
				text += fmt.Sprintf("~%d", r.Uneven)
			}
			got = append(got, text)
		}
		if lean == nil {
			got = nil
		}
		if d.Node != d.Ranked[0].Node || strings.Join(got, " ") != want {
			t.Errorf("%s of %q, expected %q", d.Node, strings.Join(got, " "), want)
		}
		pass.Detail = Brief
		if brief, err := pipeline.Plan(w.state.View(), j, pass); err != nil || brief.Node != d.Node {
			t.Errorf("in brief %s, %v, expected %s", brief.Node, err, d.Node)
		}
	}
	rule := func(key string, weight int32, apart bool, apps ...string) poise.PodRule {
		return poise.PodRule{Key: key, Apart: apart, Spaces: []string{"s"}, Labels: app(apps...), Weight: weight}
	}
	rules := func(r ...poise.PodRule) poise.Pod { return poise.Pod{Rules: r} }
	f("", rules(), "y@a")
	f("", rules(rule("zone", 0, false, "y")), "y@a")
	f("a+5 b+5 d e", rules(rule("zone", 5, false, "y")), "y@b")
	f("d e a-5 b-5", rules(rule("zone", 5, true, "y")), "y@b")
	f("b+3 d e a-2", rules(rule("zone", 2, true, "y"), rule("host", 5, false, "v")), "y@b", "v@b") // a: -2, b: -2+5
	f("d+10 a+5 b+5 e", rules(rule("zone", 5, false, "y")), "y@b", "y@d", "y@d/other", "y@z", "yy@d", "y@d/s")
	// Those that are there prefer it too, and require it.
	f("a+7 b+7 d e", rules(), "y@a", rule("zone", 7, false, "x"))
	f("d e a-7 b-7", rules(), "y@a", rule("zone", 7, true, "x"))
	f("a+1 b d e", rules(), "y@a", rule("host", 0, false, "x"))
	f("", rules(), "y@a", rule("host", 0, true, "x"))
	spread := poise.Pod{Spread: []poise.SpreadRule{{Key: "zone", MaxSkew: 1, Labels: app("x"), Soft: true}}}
	f("a b d e-", spread)
	f("d a~2 b~2 e-", spread, "x@a")
	f("d~2 a~4 b~4 e-", spread, "x@a", "x@b", "x@d")
	f("d a~2 b~2 e-", spread, "x@a", "x-ending@d", "x@z")
	spread.Rules = []poise.PodRule{rule("host", 1, false, "x")}
	f("a+1~2 d b~2 e-", spread, "x@a") // near goes first
}
