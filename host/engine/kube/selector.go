package kube

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// nothing matches no labels.
func nothing() []poise.Selector {
	return []poise.Selector{{Key: ClusterLabel, Op: poise.Exists}, {Key: ClusterLabel, Op: poise.DoesNotExist}}
}

// selectorsOf gives the selectors that match what a label selector does: nil
// matches nothing, an empty one everything.
func selectorsOf(s *metav1.LabelSelector) ([]poise.Selector, error) {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, err
	}
	return requirementsOf(parsed)
}

// requirementsOf gives the selectors that match what a parsed selector does.
func requirementsOf(s labels.Selector) ([]poise.Selector, error) {
	requirements, some := s.Requirements()
	if !some {
		return nothing(), nil
	}
	var all []poise.Selector
	for i := range requirements {
		r := &requirements[i]
		one := poise.Selector{Key: r.Key()}
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			one.Op = poise.In
		case selection.NotIn, selection.NotEquals:
			one.Op = poise.NotIn
		case selection.Exists:
			one.Op = poise.Exists
		case selection.DoesNotExist:
			one.Op = poise.DoesNotExist
		default:
			return nil, fmt.Errorf("operator %q", r.Operator())
		}
		if one.Op == poise.In || one.Op == poise.NotIn {
			one.Values = r.ValuesUnsorted()
			slices.Sort(one.Values)
		}
		all = append(all, one)
	}
	return all, nil
}

// termOf gives a term that matches the nodes that a node selector's term does:
// none where the term is empty or says something that cannot be read, which is
// why it comes back false then.
func termOf(t *v1.NodeSelectorTerm) (poise.Term, bool) {
	if len(t.MatchExpressions) == 0 && len(t.MatchFields) == 0 {
		return nil, false
	}
	if _, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{*t}}); err != nil {
		return nil, false
	}
	var term poise.Term
	for i := range t.MatchExpressions {
		r := &t.MatchExpressions[i]
		term = append(term, poise.Selector{Key: r.Key, Op: poise.Op(r.Operator), Values: r.Values})
	}
	for i := range t.MatchFields {
		r := &t.MatchFields[i]
		if r.Key != metav1.ObjectNameField {
			return nil, false
		}
		term = append(term, poise.Selector{Key: NodeLabel, Op: poise.Op(r.Operator), Values: r.Values})
	}
	return term, true
}
