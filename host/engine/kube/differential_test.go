package kube

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	v1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

func parsed(text string) quantity.Quantity { return quantity.MustParse(text) }

var (
	keys   = rapid.SampledFrom([]string{"a", "b", "n", "not a key", ""})
	values = rapid.SampledFrom([]string{"", "x", "z", "1", "2", "+2", "-3", "010", "9223372036854775808", "not a value"})
	sets   = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "n"}), rapid.SampledFrom([]string{"", "x", "z", "1", "2", "-3"}), 0, 3)
)

func drawTerms(t *rapid.T, name string) []v1.NodeSelectorTerm {
	requirement := rapid.Custom(func(t *rapid.T) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{
			Key:      keys.Draw(t, "key"),
			Operator: v1.NodeSelectorOperator(rapid.SampledFrom([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Is"}).Draw(t, "operator")),
			Values:   rapid.SliceOfN(values, 0, 3).Draw(t, "values"),
		}
	})
	field := rapid.Custom(func(t *rapid.T) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{
			Key:      "metadata.name",
			Operator: v1.NodeSelectorOperator(rapid.SampledFrom([]string{"In", "NotIn", "Exists"}).Draw(t, "operator")),
			Values:   rapid.SliceOfN(rapid.SampledFrom([]string{"n1", "n2"}), 0, 2).Draw(t, "values"),
		}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{
			MatchExpressions: rapid.SliceOfN(requirement, 0, 2).Draw(t, "expressions"),
			MatchFields:      rapid.SliceOfN(field, 0, 2).Draw(t, "fields"),
		}
	}), 0, 3).Draw(t, name)
}

// A job matches a node where kube-scheduler's own reading of the pod does, and
// prefers it as much.
func TestNodeAffinityIsThatOfKubeScheduler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"), Labels: sets.Draw(t, "labels")}}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "s", UID: "u"}}
		if rapid.Bool().Draw(t, "selects") {
			pod.Spec.NodeSelector = sets.Draw(t, "selector")
		}
		affinity := &v1.NodeAffinity{}
		if rapid.Bool().Draw(t, "requires") {
			affinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: drawTerms(t, "required")}
		}
		for i, term := range drawTerms(t, "preferred") {
			affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
				v1.PreferredSchedulingTerm{Weight: int32(rapid.IntRange(0, 100).Draw(t, fmt.Sprint("weight ", i))), Preference: term})
		}
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: affinity}

		want, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
		preferred, unreadable := nodeaffinity.NewPreferredSchedulingTerms(affinity.PreferredDuringSchedulingIgnoredDuringExecution)

		row, err := Node(node, "north")
		if err != nil {
			t.Fatal(err)
		}
		job, refused := reader().Job(pod)
		if (unreadable != nil) != (len(refused) > 0) {
			t.Fatalf("refused %q, kube-scheduler: %v", refused, unreadable)
		}
		got := poise.Term(job.Selectors).Matches(row.Labels)
		if len(job.Pod.AnyOf) > 0 {
			some := false
			for _, term := range job.Pod.AnyOf {
				some = some || term.Matches(row.Labels)
			}
			got = got && some
		}
		if got != want {
			t.Fatalf("matches %t, kube-scheduler %t: %+v", got, want, job)
		}
		if unreadable != nil {
			return
		}
		var sum int64
		for _, p := range job.Pod.Prefer {
			if p.Term.Matches(row.Labels) {
				sum += int64(p.Weight)
			}
		}
		if sum != preferred.Score(node) {
			t.Fatalf("preferred by %d, kube-scheduler %d", sum, preferred.Score(node))
		}
	})
}

// A job tolerates a node's taints where kube-scheduler says that its pod does.
func TestTaintsAreThoseOfKubeScheduler(t *testing.T) {
	effects := rapid.SampledFrom([]v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule})
	taintKeys := rapid.SampledFrom([]string{"a", "b", v1.TaintNodeUnschedulable})
	taintValues := rapid.SampledFrom([]string{"", "x", "z"})
	rapid.Check(t, func(t *rapid.T) {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		node.Spec.Unschedulable = rapid.Bool().Draw(t, "unschedulable")
		node.Spec.Taints = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1.Taint {
			return v1.Taint{Key: taintKeys.Draw(t, "key"), Value: taintValues.Draw(t, "value"), Effect: effects.Draw(t, "effect")}
		}), 0, 3).Draw(t, "taints")
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "s", UID: "u"}}
		pod.Spec.Tolerations = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1.Toleration {
			o := v1.Toleration{Key: taintKeys.Draw(t, "key"), Operator: rapid.SampledFrom([]v1.TolerationOperator{"", "Equal", "Exists"}).Draw(t, "operator")}
			if o.Operator != v1.TolerationOpExists {
				o.Value = taintValues.Draw(t, "value")
			} else if rapid.Bool().Draw(t, "any key") {
				o.Key = ""
			}
			if rapid.Bool().Draw(t, "one effect") {
				o.Effect = effects.Draw(t, "effect")
			}
			return o
		}), 0, 3).Draw(t, "tolerations")

		log := klog.Background()
		_, bad := corev1.FindMatchingUntoleratedTaint(log, node.Spec.Taints, pod.Spec.Tolerations, func(t *v1.Taint) bool {
			return t.Effect != v1.TaintEffectPreferNoSchedule
		}, false)
		cordon := v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}
		bad = bad || node.Spec.Unschedulable && !corev1.TolerationsTolerateTaint(log, pod.Spec.Tolerations, &cordon, false)

		row, err := Node(node, "north")
		if err != nil {
			t.Fatal(err)
		}
		job, refused := reader().Job(pod)
		if refused != nil {
			t.Fatal(refused)
		}
		got := true
		for i := range row.Taints {
			got = got && poise.Tolerates(job.Tolerations, &row.Taints[i])
		}
		if got == bad {
			t.Fatalf("tolerated %t, kube-scheduler %t", got, !bad)
		}
		for i := range node.Spec.Taints {
			taint := &node.Spec.Taints[i]
			if taint.Effect != v1.TaintEffectPreferNoSchedule {
				continue
			}
			if minds := !corev1.TolerationsTolerateTaint(log, pod.Spec.Tolerations, taint, false); poise.Minds(job.Tolerations, &row.Taints[i]) != minds {
				t.Fatalf("minds %v: expected %t", taint, minds)
			}
		}
	})
}

// A label selector of the core matches what that of Kubernetes does.
func TestLabelSelectorIsThatOfKubernetes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s *metav1.LabelSelector
		if rapid.Bool().Draw(t, "some") {
			s = &metav1.LabelSelector{MatchLabels: sets.Draw(t, "match labels")}
			s.MatchExpressions = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) metav1.LabelSelectorRequirement {
				return metav1.LabelSelectorRequirement{
					Key:      keys.Draw(t, "key"),
					Operator: metav1.LabelSelectorOperator(rapid.SampledFrom([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt"}).Draw(t, "operator")),
					Values:   rapid.SliceOfN(values, 0, 3).Draw(t, "values"),
				}
			}), 0, 2).Draw(t, "expressions")
		}
		of := sets.Draw(t, "labels")
		want, unreadable := metav1.LabelSelectorAsSelector(s)
		got, err := selectorsOf(s)
		if (err != nil) != (unreadable != nil) {
			t.Fatalf("%v, Kubernetes: %v", err, unreadable)
		}
		if err == nil && poise.Term(got).Matches(labelsOf(of)) != want.Matches(labels.Set(of)) {
			t.Fatalf("%+v on %v: expected %t", got, of, want.Matches(labels.Set(of)))
		}
	})
}

// Amounts are those of Kubernetes to the last base unit, up for what is asked for
// and down for what is offered.
func TestAmountsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,6})?(n|u|m|k|M|G|Ki|Mi|Gi|e-?[0-9])?`).Draw(t, "quantity")
		q, err := quantity.ParseQuantity(text)
		if err != nil {
			t.Skip(err)
		}
		name := rapid.SampledFrom([]v1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "pods", "example.com/fpga"}).Draw(t, "resource")
		decimal := q.DeepCopy()
		exact, ok := new(big.Rat).SetString(decimal.AsDec().String())
		if !ok {
			t.Fatalf("%s is no number", q.String())
		}
		if resource.UnitOf(string(name)) == resource.Milli {
			exact.Mul(exact, big.NewRat(1000, 1))
		}
		down := new(big.Int).Quo(exact.Num(), exact.Denom())
		up := new(big.Int).Set(down)
		if new(big.Int).Rem(exact.Num(), exact.Denom()).Sign() != 0 {
			up.Add(up, big.NewInt(1))
		}
		for _, offered := range []bool{true, false} {
			want := up
			if offered {
				want = down
			}
			list, _, err := amounts(v1.ResourceList{name: q}, offered)
			if !want.IsInt64() {
				if err == nil {
					t.Fatalf("%s %s gives %v, expected an error", name, text, list)
				}
				continue
			}
			if got, _ := list.Find(dimension(name)); err != nil || got != want.Int64() {
				t.Fatalf("%s %s, offered %t: %d, %v, expected %v", name, text, offered, got, err, want)
			}
		}
	})
}
