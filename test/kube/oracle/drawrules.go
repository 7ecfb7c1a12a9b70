package oracle

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// drawAffinity draws what a pod wants of nodes and of other pods, mostly nothing.
func drawAffinity(t *rapid.T) *v1.Affinity {
	a := drawPodAffinity(t, Everything)
	if chance(t, "node affinity", 3) {
		a.NodeAffinity = drawNodeAffinity(t)
	}
	return a
}

func drawPodAffinity(t *rapid.T, f Focus) *v1.Affinity {
	a := &v1.Affinity{}
	if chance(t, "pod affinity", 3) {
		required, preferred := drawPodTerms(t, f)
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	if chance(t, "pod anti-affinity", 3) {
		required, preferred := drawPodTerms(t, f)
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	return a
}

func drawNodeAffinity(t *rapid.T) *v1.NodeAffinity {
	a := &v1.NodeAffinity{}
	if chance(t, "required of nodes", 2) {
		s := &v1.NodeSelector{}
		for range rapid.IntRange(1, 2).Draw(t, "terms") {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms, drawNodeTerm(t))
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = s
	}
	for range rapid.IntRange(0, 2).Draw(t, "preferred of nodes") {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: one(t, "weight", int32(1), 10, 100), Preference: drawNodeTerm(t)})
	}
	return a
}

// drawPreference draws terms of one label each, so that most match some node.
func drawPreference(t *rapid.T) *v1.NodeAffinity {
	a := &v1.NodeAffinity{}
	for range rapid.IntRange(1, 3).Draw(t, "preferred of nodes") {
		r := v1.NodeSelectorRequirement{Key: one(t, "key", "zone", "disk"), Operator: v1.NodeSelectorOpIn, Values: []string{one(t, "value", values...)}}
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{
			Weight: one(t, "weight", int32(1), 10, 100), Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}},
		})
	}
	return a
}

// drawNodeTerm draws a term that may be empty, which matches nothing.
func drawNodeTerm(t *rapid.T) (term v1.NodeSelectorTerm) {
	for range rapid.IntRange(0, 2).Draw(t, "expressions") {
		r := v1.NodeSelectorRequirement{Key: one(t, "key", nodeKeys...), Operator: one(t, "operator",
			v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)}
		switch r.Operator {
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			r.Values = rapid.SliceOfN(rapid.SampledFrom(append([]string{"n0", "n1"}, values...)), 1, 2).Draw(t, "values")
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			r.Values = []string{one(t, "value", "1", "2", "0")}
		}
		term.MatchExpressions = append(term.MatchExpressions, r)
	}
	if chance(t, "fields", 5) {
		term.MatchFields = []v1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: one(t, "operator", v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{one(t, "name", "n0", "n1", "n9")},
		}}
	}
	return term
}

func drawPodTerms(t *rapid.T, f Focus) (required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for range rapid.IntRange(0, 2).Draw(t, "required of pods") {
		required = append(required, drawPodTerm(t, f))
	}
	for range rapid.IntRange(0, 2).Draw(t, "preferred of pods") {
		preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: one(t, "weight", int32(1), 10, 100), PodAffinityTerm: drawPodTerm(t, f)})
	}
	return required, preferred
}

func drawPodTerm(t *rapid.T, f Focus) v1.PodAffinityTerm {
	byKeys := chance(t, "label keys", 5)
	term := v1.PodAffinityTerm{TopologyKey: one(t, "topology", nodeKeys...), LabelSelector: drawPodSelector(t, f, byKeys)}
	if chance(t, "namespaces", 3) {
		term.Namespaces = rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"gone"}, spaces...)), 1, 2, rapid.ID).Draw(t, "namespaces")
	}
	if chance(t, "namespace selector", 3) {
		term.NamespaceSelector = drawSelector(t, []string{"team", v1.LabelMetadataName}, []string{"one", "two", "blue"})
	}
	switch {
	case !byKeys || term.LabelSelector == nil:
	case chance(t, "mismatch", 2):
		term.MismatchLabelKeys = []string{keyed}
	default:
		term.MatchLabelKeys = []string{keyed}
	}
	return term
}

// keyed is the label that matchLabelKeys and mismatchLabelKeys name; a selector
// beside them must not.
const keyed = "tier"

func drawPodSelector(t *rapid.T, f Focus, byKeys bool) *metav1.LabelSelector {
	keys := f.keys()
	if byKeys {
		keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == keyed })
	}
	return drawSelector(t, keys, f.values())
}

// drawSelector draws nil, which matches nothing, an empty selector, which matches
// all, or one or two requirements.
func drawSelector(t *rapid.T, keys, values []string) *metav1.LabelSelector {
	if chance(t, "no selector", 8) {
		return nil
	}
	s := &metav1.LabelSelector{}
	if chance(t, "labels", 2) {
		s.MatchLabels = map[string]string{one(t, "key", keys...): one(t, "value", values...)}
	}
	if chance(t, "expressions", 3) {
		r := metav1.LabelSelectorRequirement{Key: one(t, "key", keys...), Operator: one(t, "operator",
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 2).Draw(t, "values")
		}
		s.MatchExpressions = []metav1.LabelSelectorRequirement{r}
	}
	return s
}

// drawSpread draws constraints with one for a key and kind at most, as the API
// server wants it.
func drawSpread(t *rapid.T, f Focus) (all []v1.TopologySpreadConstraint) {
	seen := map[string]bool{}
	for range rapid.IntRange(1, 2).Draw(t, "constraints") {
		byKeys := chance(t, "label keys", 4)
		c := v1.TopologySpreadConstraint{
			TopologyKey: one(t, "topology", nodeKeys...), MaxSkew: one(t, "skew", int32(1), 2),
			WhenUnsatisfiable: one(t, "unsatisfiable", v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: drawPodSelector(t, f, byKeys),
		}
		key := fmt.Sprint(c.TopologyKey, c.WhenUnsatisfiable)
		if seen[key] {
			continue
		}
		seen[key] = true
		if c.WhenUnsatisfiable == v1.DoNotSchedule && chance(t, "domains", 3) {
			c.MinDomains = new(one(t, "domains", int32(1), 2, 3))
		}
		if chance(t, "affinity policy", 3) {
			c.NodeAffinityPolicy = new(one(t, "affinity policy", v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if chance(t, "taints policy", 3) {
			c.NodeTaintsPolicy = new(one(t, "taints policy", v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if c.LabelSelector != nil && byKeys {
			c.MatchLabelKeys = []string{keyed}
		}
		all = append(all, c)
	}
	return all
}
