package kube

import (
	"errors"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// required gives the terms of which a pod's node matches one, none where every
// node does. Terms that are empty or cannot be read match no node; where there
// are no others, one that matches nothing says so.
func required(a *v1.Affinity) []poise.Term {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var all []poise.Term
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		if t, ok := termOf(&terms[i]); ok {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		all = append(all, nothing())
	}
	return all
}

// preferred gives the terms that a pod's node had better match. Empty ones say
// nothing.
func preferred(a *v1.Affinity) ([]poise.Preference, error) {
	if a == nil || a.NodeAffinity == nil {
		return nil, nil
	}
	var all []poise.Preference
	terms := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		t := &terms[i]
		if t.Weight == 0 || len(t.Preference.MatchExpressions)+len(t.Preference.MatchFields) == 0 {
			continue
		}
		term, ok := termOf(&t.Preference)
		if !ok {
			return all, fmt.Errorf("term %d cannot be read", i)
		}
		all = append(all, poise.Preference{Weight: t.Weight, Term: term})
	}
	return all, nil
}

// rules gives a pod's rules about other pods. Those of one that is placed matter to
// others. What cannot be read is left out and is the error.
func (r *Reader) rules(pod *v1.Pod) ([]poise.PodRule, error) {
	a := pod.Spec.Affinity
	if a == nil {
		return nil, nil
	}
	var all []poise.PodRule
	var errs []error
	add := func(t *v1.PodAffinityTerm, apart bool, weight int32) {
		rule, err := r.rule(pod, t)
		if err != nil {
			errs = append(errs, err)
			return
		}
		rule.Apart, rule.Weight = apart, weight
		all = append(all, rule)
	}
	weighted := func(terms []v1.WeightedPodAffinityTerm, apart bool) {
		for i := range terms {
			if terms[i].Weight != 0 {
				add(&terms[i].PodAffinityTerm, apart, terms[i].Weight)
			}
		}
	}
	if near := a.PodAffinity; near != nil {
		for i := range near.RequiredDuringSchedulingIgnoredDuringExecution {
			add(&near.RequiredDuringSchedulingIgnoredDuringExecution[i], false, 0)
		}
		weighted(near.PreferredDuringSchedulingIgnoredDuringExecution, false)
	}
	if apart := a.PodAntiAffinity; apart != nil {
		for i := range apart.RequiredDuringSchedulingIgnoredDuringExecution {
			add(&apart.RequiredDuringSchedulingIgnoredDuringExecution[i], true, 0)
		}
		weighted(apart.PreferredDuringSchedulingIgnoredDuringExecution, true)
	}
	return all, errors.Join(errs...)
}

// rule gives one rule about other pods of the cluster. matchLabelKeys and
// mismatchLabelKeys say nothing more: the API server has put what they mean into
// the selector when the pod was created.
func (r *Reader) rule(pod *v1.Pod, t *v1.PodAffinityTerm) (poise.PodRule, error) {
	rule := poise.PodRule{Key: t.TopologyKey}
	if t.TopologyKey == "" {
		return rule, errors.New("a term without a topology key")
	}
	var err error
	if rule.Labels, err = selectorsOf(t.LabelSelector); err != nil {
		return rule, err
	}
	switch {
	case t.NamespaceSelector != nil && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) == 0:
		return rule, nil // any namespace
	case t.NamespaceSelector != nil:
		of, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
		if err != nil {
			return rule, err
		}
		if r.Spaces != nil {
			rule.Spaces = slices.Clone(r.Spaces(of))
		}
		rule.Spaces = append(rule.Spaces, t.Namespaces...)
	case len(t.Namespaces) > 0:
		rule.Spaces = slices.Clone(t.Namespaces)
	default:
		rule.Spaces = []string{pod.Namespace}
	}
	slices.Sort(rule.Spaces)
	rule.Spaces = slices.Compact(rule.Spaces)
	if len(rule.Spaces) == 0 {
		rule.Labels = append(rule.Labels, nothing()...)
	}
	return rule, nil
}

// spread gives a pod's topology spread constraints.
func (r *Reader) spread(pod *v1.Pod) ([]poise.SpreadRule, error) {
	var all []poise.SpreadRule
	var errs []error
	for i := range pod.Spec.TopologySpreadConstraints {
		rule, err := r.spreadRule(pod, &pod.Spec.TopologySpreadConstraints[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, rule)
	}
	return all, errors.Join(errs...)
}

func (r *Reader) spreadRule(pod *v1.Pod, c *v1.TopologySpreadConstraint) (poise.SpreadRule, error) {
	rule := poise.SpreadRule{Key: c.TopologyKey, MaxSkew: c.MaxSkew}
	switch c.WhenUnsatisfiable {
	case v1.DoNotSchedule:
	case v1.ScheduleAnyway:
		rule.Soft = true
	default:
		return rule, fmt.Errorf("whenUnsatisfiable %q, expected DoNotSchedule or ScheduleAnyway", c.WhenUnsatisfiable)
	}
	var err error
	if rule.Labels, err = selectorsOf(c.LabelSelector); err != nil {
		return rule, err
	}
	for _, key := range c.MatchLabelKeys {
		if value, has := pod.Labels[key]; has {
			rule.Labels = append(rule.Labels, poise.Selector{Key: key, Op: poise.In, Values: []string{value}})
		}
	}
	if c.MinDomains != nil {
		rule.MinDomains = *c.MinDomains
	}
	if p := c.NodeAffinityPolicy; p != nil {
		rule.AnyNode = *p == v1.NodeInclusionPolicyIgnore
	}
	if p := c.NodeTaintsPolicy; p != nil {
		rule.HonorTaints = *p == v1.NodeInclusionPolicyHonor
	}
	return rule, nil
}
