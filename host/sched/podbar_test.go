package sched

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// podWorld has four nodes in two zones of cluster c, and one of another cluster:
// a and b in east, d in west, e with no zone at all. On them is what is named, see
// on, each with the rule behind it, if there is one.
func podWorld(t *testing.T, there ...any) *world {
	w := newWorld(t)
	for _, n := range []struct{ name, cluster, zone string }{{"a", "c", "east"}, {"b", "c", "east"}, {"d", "c", "west"}, {"e", "c", ""}, {"z", "other", "east"}} {
		node := poise.Node{Name: n.name, Cluster: n.cluster, Capacity: resource.List{{Name: "cpu", Value: 100}}, Labels: []poise.Label{{Key: "host", Value: n.name}}}
		if n.zone != "" {
			node.Labels = append(node.Labels, poise.Label{Key: "zone", Value: n.zone})
		}
		w.join(node)
	}
	for i := 0; i < len(there); i++ {
		text, rules := there[i].(string), []poise.PodRule(nil)
		if i+1 < len(there) {
			if r, ok := there[i+1].(poise.PodRule); ok {
				rules = append(rules, r)
				i++
			}
		}
		w.on(text, rules...)
	}
	return w
}

// on puts an occupant on a node: "app@node" in namespace s, "app@node/space"
// elsewhere, with rules of its own.
func (w *world) on(text string, rules ...poise.PodRule) {
	w.t.Helper()
	app, at, _ := strings.Cut(text, "@")
	node, space, found := strings.Cut(at, "/")
	if !found {
		space = "s"
	}
	cluster := "c"
	if node == "z" {
		cluster = "other"
	}
	w.apply(poise.NodeOccupied{Occupant: poise.Occupant{
		ID: text, Name: text, Node: node, Labels: []poise.Label{{Key: "app", Value: app}}, Ending: strings.HasSuffix(app, "-ending"),
		Pod: &poise.Pod{Cluster: cluster, Space: space, Rules: rules},
	}})
}

func app(values ...string) []poise.Selector {
	return []poise.Selector{{Key: "app", Op: poise.In, Values: values}}
}

// What each node says to a pod of app "x" in namespace s: "." for nothing in the
// way, else the first letter of far, near, kept away, uneven, or - for no label.
func TestPodBar(t *testing.T) {
	letters := map[poise.ReasonCode]string{
		poise.Fits: ".", poise.FarFromPods: "f", poise.NearPods: "n", poise.KeptAway: "k", poise.Uneven: "u", poise.NoDomain: "-",
	}
	f := func(want string, p poise.Pod, there ...any) {
		t.Helper()
		w := podWorld(t, there...)
		p.Cluster, p.Space = "c", "s"
		j := w.submit(poise.Job{ID: "j", Name: "j", Tenant: "t", Tasks: 1, Labels: []poise.Label{{Key: "app", Value: "x"}}, Pod: &p})
		got := ""
		if b := NewPodBar(w.state.View(), w.state.PodKinds(), j); b == nil {
			got = "no bar"
		} else {
			for _, name := range []string{"a", "b", "d", "e"} {
				row, _ := w.state.Row(name)
				got += letters[b.Refuses(row).Code()]
			}
		}
		if got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
	near := func(key string, apps ...string) poise.PodRule {
		return poise.PodRule{Key: key, Spaces: []string{"s"}, Labels: app(apps...)}
	}
	away := func(key string, apps ...string) poise.PodRule {
		r := near(key, apps...)
		r.Apart = true
		return r
	}
	rules := func(r ...poise.PodRule) poise.Pod { return poise.Pod{Rules: r} }

	f("no bar", rules(), "y@a")
	f("no bar", rules(poise.PodRule{Key: "zone", Labels: app("y"), Weight: 7}), "y@a")

	// Affinity: the zone of one, all nodes' label needed, other namespaces and
	// clusters not seen.
	f("..f-", rules(near("zone", "y")), "y@a")
	f(".fff", rules(near("host", "y")), "y@a")
	f("fff-", rules(near("zone", "y")), "y@a/other", "y@z")
	f("..f-", rules(poise.PodRule{Key: "zone", Labels: app("y")}), "y@a/other")
	f("fff-", rules(near("zone", "y")))
	// The first of a kind may be anywhere, the second only near the first, and the
	// first not where it is another's turn.
	f("...-", rules(near("zone", "x")))
	f("..f-", rules(near("zone", "x")), "x@b")
	f("...-", rules(near("zone", "x")), "x@e")
	// Two rules are about one and the same pod.
	f(".fff", rules(near("host", "y"), near("host", "y", "v")), "y@a", "v@b")
	f("ffff", rules(near("host", "y"), near("host", "v")), "y@a", "v@a")
	// One that is told to end counts for these, not for spread.
	f("..f-", rules(near("zone", "y-ending")), "y-ending@a")

	// Anti-affinity: a node without the label is near nothing.
	f("nn..", rules(away("zone", "y")), "y@a")
	f(".n..", rules(away("host", "y", "x")), "x@b")
	f("no bar", rules(away("zone", "y")), "y@e")
	f("nnn.", rules(away("zone", "y"), away("host", "v")), "y@a", "v@d")
	f("nnkn", rules(away("zone", "y"), away("host", "v")), "y@a", "w@d", away("zone", "x"), "v@e")

	// Others keep it away, whoever they are, if their rule finds it.
	f("kk..", rules(), "y@a", away("zone", "x"))
	f("no bar", rules(), "y@a", away("zone", "v"))
	f("kk..", rules(), "y@a/other", away("zone", "x"))
	f("no bar", rules(), "y@z", poise.PodRule{Key: "zone", Apart: true})
	f("no bar", rules(), "y@a", poise.PodRule{Key: "zone", Apart: true, Labels: app("x"), Weight: 5})

	spread := func(s poise.SpreadRule) poise.Pod {
		s.Key = "zone"
		if s.MaxSkew == 0 {
			s.MaxSkew = 1
		}
		return poise.Pod{Spread: []poise.SpreadRule{s}}
	}
	f("...-", spread(poise.SpreadRule{Labels: app("x")}))
	f("uu.-", spread(poise.SpreadRule{Labels: app("x")}), "x@a")
	f("...-", spread(poise.SpreadRule{Labels: app("x")}), "x@a", "x@d")
	f("...-", spread(poise.SpreadRule{Labels: app("x"), MaxSkew: 2}), "x@a")
	f("...-", spread(poise.SpreadRule{Labels: app("x-ending", "x")}), "x-ending@a")
	f("...-", spread(poise.SpreadRule{Labels: app("x")}), "x@a/other", "x@z")
	f("uuu-", spread(poise.SpreadRule{Labels: app("x"), MinDomains: 3}), "x@a", "x@d")
	f("uu.-", spread(poise.SpreadRule{Labels: app("x"), MinDomains: 3}), "x@a")
	// What it does not count it may join; a rule without labels counts nothing.
	f("...-", spread(poise.SpreadRule{Labels: app("y")}), "y@a")
	f("uu.-", spread(poise.SpreadRule{Labels: app("y")}), "y@a", "y@b")
	f("...-", spread(poise.SpreadRule{}), "x@a", "x@b")
	f("no bar", spread(poise.SpreadRule{Labels: app("x"), Soft: true}), "x@a")
	// Nodes that its terms refuse do not count, unless they are to: here the west has
	// none, and is no domain, or is one.
	east := spread(poise.SpreadRule{Labels: app("x")})
	east.AnyOf = []poise.Term{{{Key: "zone", Op: poise.In, Values: []string{"east"}}}}
	f("...-", east, "x@a")
	east.Spread[0].AnyNode = true
	f("uu.-", east, "x@a")
}
