// Package kube holds Poise's reading of pods and nodes, and where it would put
// the pods, against kube-scheduler itself. It imports the product and the oracle.
// Both must name the same nodes for every pod that Poise places at all; a question
// that found a fault is kept in testdata.
package kube

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/poise-sched/poise/host/balance"
	engine "github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/test/kube/oracle"
)

const (
	cluster = "c"
	// So many pods are asked about in so many worlds with two or three nodes each.
	podsPerWorld  = 12
	defaultWorlds = "4000"
	wantPairs     = 100_000
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(defaultWorlds); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// question is one pod and the world it comes to, as it is kept in testdata.
type question struct {
	Nodes      []*v1.Node      `json:"nodes"`
	Pods       []*v1.Pod       `json:"pods"`
	Namespaces []*v1.Namespace `json:"namespaces"`
	Pod        *v1.Pod         `json:"pod"`
}

func (q *question) world() oracle.World {
	return oracle.World{Nodes: q.Nodes, Pods: q.Pods, Namespaces: q.Namespaces}
}

// answer is what Poise says.
type answer struct {
	refused []string          // why it does not place such a pod at all
	nodes   map[string]string // why not this node, "" for nothing in the way
	chosen  string            // "" where no node may have it
	leans   map[string]sched.Leaning
	soft    int // spread rules that are preferences
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// asTask has a pod on its node as one that Poise has put there, and says whether it
// might have.
func asTask(s *state.State, reader *engine.Reader, p *v1.Pod, o *poise.Occupant) bool {
	job, refused := reader.Job(p)
	if len(refused) > 0 || job.Gang != nil || job.Request.Device.Count > 0 || s.Job(job.ID) != nil {
		return false
	}
	try := func(b poise.Body) bool { return s.Apply(poise.Event{Index: s.Index() + 1, Body: b}) == nil }
	if !try(poise.JobSubmitted{Job: job}) {
		return false
	}
	if !try(poise.JobPlaced{Placement: poise.Placement{Job: job.ID, Node: o.Node}}) {
		return !try(poise.JobWithdrawn{Job: job.ID})
	}
	return !o.Ending || try(poise.JobEnding{Job: job.ID})
}

// ask asks Poise, the way from Kubernetes' objects to events and from there to
// filters and bars.
func ask(t fataler, q *question) answer {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatalf("new state: %v", err)
	}
	apply := func(b poise.Body) {
		t.Helper()
		if err := s.Apply(poise.Event{Index: s.Index() + 1, Body: b}); err != nil {
			t.Fatalf("apply %s: %v", b.EventKind(), err)
		}
	}
	present := map[string]bool{}
	for _, n := range q.Nodes {
		node, err := engine.Node(n, cluster)
		if err != nil {
			t.Fatalf("node: %v", err)
		}
		present[n.Name] = true
		apply(poise.NodeJoined{Node: node})
	}
	reader := &engine.Reader{Cluster: cluster, Spaces: func(s labels.Selector) (found []string) {
		for _, n := range q.Namespaces {
			if s.Matches(labels.Set(n.Labels)) {
				found = append(found, n.Name)
			}
		}
		return found
	}}
	for i, p := range q.Pods {
		o, holds := reader.Occupant(p)
		if !holds || !present[p.Spec.NodeName] {
			continue
		}
		if i%2 == 0 || !asTask(s, reader, p, &o) {
			apply(poise.NodeOccupied{Occupant: o})
		}
	}
	job, refused := reader.Job(q.Pod)
	if len(refused) > 0 {
		return answer{refused: refused}
	}
	apply(poise.JobSubmitted{Job: job})
	j, snap := s.Job(job.ID), s.View()
	fit, bar := sched.NewFit(j.Shape, snap), sched.NewPodBar(snap, s.PodKinds(), j)
	var pass sched.Pass
	if bar != nil {
		pass.Bars = append(pass.Bars, bar)
	}
	lean := sched.NewPodLean(snap, s.PodKinds(), j)
	if lean != nil {
		pass.Bars = append(pass.Bars, lean)
	}
	scorer, err := balance.NewSpread(nil)
	if err != nil {
		t.Fatalf("the native scorer: %v", err)
	}
	d, err := sched.NewPipeline(sched.Policy{Name: "native", Scorer: scorer}).Plan(snap, j, pass)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	a := answer{nodes: map[string]string{}, leans: map[string]sched.Leaning{}, chosen: strings.TrimPrefix(d.Node, engine.NodeName(cluster, ""))}
	for _, c := range q.Pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.ScheduleAnyway {
			a.soft++
		}
	}
	for name := range present {
		row, _ := s.Row(engine.NodeName(cluster, name))
		why := fit.Reason(snap, row)
		if why == 0 && bar != nil {
			why = bar.Refuses(row)
		}
		if lean != nil {
			a.leans[name] = lean.Lean(row)
		}
		if a.nodes[name] = ""; why != 0 {
			a.nodes[name] = why.Code().String()
		}
	}
	return a
}

// judge gives where the two differ, "" where they do not.
func judge(v oracle.Verdict, a answer) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
		refusal, refused := v.Refused[name]
		if why := a.nodes[name]; (why != "") != refused {
			fmt.Fprintf(&out, "%s: Poise says %q, kube-scheduler %v\n", name, why, refusal)
		}
	}
	if out.Len() == 0 {
		judgeChoice(&out, v, a)
		judgeLean(&out, v, a)
	}
	return out.String()
}

// judgeChoice notes where the node that Poise chose is not one that
// kube-scheduler would allow, or has more taints to avoid than another, or as
// many and less of what the pod prefers of nodes.
func judgeChoice(out *strings.Builder, v oracle.Verdict, a answer) {
	feasible := len(a.nodes) - len(v.Refused)
	if _, refused := v.Refused[a.chosen]; refused || (a.chosen == "") != (feasible == 0) {
		fmt.Fprintf(out, "Poise chose %q of %d nodes\n", a.chosen, feasible)
	}
	taints, prefers := v.Scores[names.TaintToleration], v.Scores[names.NodeAffinity]
	for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
		_, refused := v.Refused[name]
		if !refused && (taints[name] < taints[a.chosen] || taints[name] == taints[a.chosen] && prefers[name] > prefers[a.chosen]) {
			fmt.Fprintf(out, "Poise chose %s with %d taints and %d preferred, %s has %d and %d\n", a.chosen, taints[a.chosen], prefers[a.chosen], name, taints[name], prefers[name])
		}
	}
}

// judgeLean notes where two nodes stand in another order by preferences about pods
// than kube-scheduler has them: by the weights of what is near, and by one soft
// spread rule. For several of these its weights are logarithms, and ours are not.
func judgeLean(out *strings.Builder, v oracle.Verdict, a answer) {
	near, spread := v.Scores[names.InterPodAffinity], v.Scores[names.PodTopologySpread]
	feasible := slices.DeleteFunc(slices.Sorted(maps.Keys(a.nodes)), func(name string) bool { return a.nodes[name] != "" })
	for i, x := range feasible {
		for _, y := range feasible[:i] {
			if cmp.Compare(a.leans[x].Near, a.leans[y].Near) != cmp.Compare(near[x], near[y]) {
				fmt.Fprintf(out, "near %s and %s is %d and %d, kube-scheduler %d and %d\n", x, y, a.leans[x].Near, a.leans[y].Near, near[x], near[y])
			}
			if lacks := a.leans[x].Uneven == math.MaxInt64 || a.leans[y].Uneven == math.MaxInt64; a.soft != 1 || lacks {
				continue
			}
			if cmp.Compare(a.leans[x].Uneven, a.leans[y].Uneven) != cmp.Compare(spread[x], spread[y]) {
				fmt.Fprintf(out, "uneven at %s and %s is %d and %d, kube-scheduler %d and %d\n", x, y, a.leans[x].Uneven, a.leans[y].Uneven, spread[x], spread[y])
			}
		}
	}
}

func newOracle(t *testing.T) *oracle.Oracle {
	o, err := oracle.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// TestSameNodes is the differential test. Every predicate has to have refused
// some nodes, or the draws no longer reach it.
func TestSameNodes(t *testing.T) {
	o := newOracle(t)
	pairs, by, notPlaced := 0, map[string]int{}, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		focus := oracle.DrawFocus(rt)
		w := oracle.DrawWorld(rt, focus)
		for i := range podsPerWorld {
			pod, ok := oracle.DrawPod(rt, fmt.Sprintf("new-%d", i), focus)
			if !ok {
				continue
			}
			v, err := o.Ask(t.Context(), w, pod)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			if gated := engine.Gated(pod); gated != (v.Gated != "") {
				rt.Fatalf("gated: Poise says %v, kube-scheduler %q", gated, v.Gated)
			}
			if v.Gated != "" {
				continue
			}
			q := &question{w.Nodes, w.Pods, w.Namespaces, pod}
			a := ask(rt, q)
			for _, why := range a.refused {
				notPlaced[why]++
			}
			if a.refused != nil {
				continue
			}
			if diff := judge(v, a); diff != "" {
				rt.Fatalf("%sthe question, for testdata:\n%s", diff, print(rt, q))
			}
			pairs += len(w.Nodes)
			for _, r := range v.Refused {
				by[r.Plugin]++
			}
		}
	})
	t.Logf("%d pairs of pod and node; refused by %v; not placed by Poise: %v", pairs, by, notPlaced)
	if flag.Lookup("rapid.checks").Value.String() != defaultWorlds || t.Failed() {
		return
	}
	if pairs < wantPairs {
		t.Errorf("%d pairs, expected %d", pairs, wantPairs)
	}
	for _, plugin := range oracle.Predicates() {
		if by[plugin] < pairs/5000 {
			t.Errorf("%s refused %d of %d: the draws hardly reach it", plugin, by[plugin], pairs)
		}
	}
}

// print gives a question as a file of testdata, without what the API server adds
// and nobody reads.
func print(t fataler, q *question) string {
	t.Helper()
	text, err := yaml.Marshal(q)
	if err != nil {
		t.Fatalf("print a question: %v", err)
	}
	return string(text)
}

// TestKept asks again what the two once differed on, in earnest or because a fault
// was put in to see whether it is found.
func TestKept(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d questions, %v", len(files), err)
	}
	o := newOracle(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var q question
			if err := yaml.UnmarshalStrict(text, &q); err != nil {
				t.Fatal(err)
			}
			v, err := o.Ask(t.Context(), q.world(), q.Pod)
			if err != nil {
				t.Fatal(err)
			}
			if diff := judge(v, ask(t, &q)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
