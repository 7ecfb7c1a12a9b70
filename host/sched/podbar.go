package sched

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// PodBar is the Bar of the required rules about pods, as kube-scheduler's plugins
// InterPodAffinity and PodTopologySpread keep them: the job's own, and those of what
// is on nodes already to keep away from it. What is on nodes counts as of when the
// bar was made.
type PodBar struct {
	snap   *state.Snapshot
	near   []places // each is to have the row
	first  bool     // the job is what it is to be near, and nothing else is: it may be anywhere
	apart  []places // none may have the row: the job keeps away
	kept   []places // none may have the row: it is kept away
	spread []spread
}

var _ Bar = (*PodBar)(nil)

// places are nodes by the value of a label.
type places struct {
	key    string
	values map[string]bool
}

// spread is a SpreadRule with what is counted.
type spread struct {
	rule   *poise.SpreadRule
	counts map[string]int32 // by domain, of those that take part
	least  int32            // in the domain that has fewest
	self   int32            // 1 where the job itself is counted
}

// NewPodBar gives the Bar for a job, nil where no rule is about it. kinds are those
// that are on nodes. It costs a look at each kind, at each row of those that a rule
// finds, and for each spread rule at every row.
func NewPodBar(snap *state.Snapshot, kinds []*state.PodKind, j *state.Job) *PodBar {
	if j.Kind == nil {
		return nil
	}
	b := &PodBar{snap: snap}
	var wants []*poise.PodRule
	for i := range j.Kind.Pod.Rules {
		rule := &j.Kind.Pod.Rules[i]
		switch {
		case !rule.Required():
		case rule.Apart:
			b.apart = some(b.apart, b.placesOf(rule, kinds, j, func(kind *state.PodKind) bool { return rule.Finds(kind.Pod.Space, kind.Labels) }))
		default:
			wants = append(wants, rule)
		}
	}
	for _, rule := range wants {
		b.near = append(b.near, b.placesOf(rule, kinds, j, func(kind *state.PodKind) bool { return findsAll(wants, kind) }))
	}
	b.first = findsAll(wants, j.Kind) && !slices.ContainsFunc(b.near, func(p places) bool { return len(p.values) > 0 })
	for _, kind := range kinds {
		for i := range kind.Pod.Rules {
			rule := &kind.Pod.Rules[i]
			if rule.Apart && rule.Required() && rule.Finds(j.Kind.Pod.Space, j.Kind.Labels) {
				b.kept = some(b.kept, b.placesOf(rule, []*state.PodKind{kind}, j, func(*state.PodKind) bool { return true }))
			}
		}
	}
	b.spread = newSpreads(snap, kinds, j, false)
	if len(b.near)+len(b.apart)+len(b.kept)+len(b.spread) == 0 {
		return nil
	}
	return b
}

// some adds places, unless there are none.
func some(all []places, p places) []places {
	if len(p.values) == 0 {
		return all
	}
	return append(all, p)
}

// findsAll says whether all rules find what is of a kind: a job has to be near one
// thing that every rule wants.
func findsAll(rules []*poise.PodRule, kind *state.PodKind) bool {
	return !slices.ContainsFunc(rules, func(r *poise.PodRule) bool { return !r.Finds(kind.Pod.Space, kind.Labels) })
}

// placesOf gives where those kinds of the job's cluster are that are wanted.
func (b *PodBar) placesOf(rule *poise.PodRule, kinds []*state.PodKind, j *state.Job, wanted func(*state.PodKind) bool) places {
	p := places{key: rule.Key, values: map[string]bool{}}
	for _, kind := range kinds {
		if kind.Pod.Cluster != j.Kind.Pod.Cluster || !wanted(kind) {
			continue
		}
		kind.Each(func(row uint32, _, _ int32) {
			if value, ok := poise.LabelValue(b.snap.Labels(row), rule.Key); ok {
				p.values[value] = true
			}
		})
	}
	return p
}

// newSpreads counts what the soft or the required spread rules of a job go by. Only
// nodes with the labels of all of them take part.
func newSpreads(snap *state.Snapshot, kinds []*state.PodKind, j *state.Job, soft bool) []spread {
	var all []spread
	for i := range j.Kind.Pod.Spread {
		if rule := &j.Kind.Pod.Spread[i]; rule.Soft == soft {
			all = append(all, spread{rule: rule, counts: map[string]int32{}})
		}
	}
	f := fit{shape: j.Shape}
	for i := range all {
		s := &all[i]
		if matchesAll(s.rule.Labels, j.Kind.Labels) {
			s.self = 1
		}
		on := s.found(kinds, j.Kind)
		for row := range uint32(snap.Rows()) {
			if !snap.Present(row) || snap.Cluster(row) != j.Kind.Pod.Cluster || !takesPart(all, snap.Labels(row)) ||
				!s.rule.AnyNode && !f.labelsMatch(snap, row) || s.rule.HonorTaints && !f.tolerated(snap, row) {
				continue
			}
			value, _ := poise.LabelValue(snap.Labels(row), s.rule.Key)
			s.counts[value] += on[row]
		}
		s.settle()
	}
	return all
}

// found counts by row what the rule does: of the job's namespace, not told to end,
// and with the labels. A rule without labels counts nothing.
func (s *spread) found(kinds []*state.PodKind, own *state.PodKind) map[uint32]int32 {
	on := map[uint32]int32{}
	for _, kind := range kinds {
		if len(s.rule.Labels) == 0 || kind.Pod.Cluster != own.Pod.Cluster || kind.Pod.Space != own.Pod.Space || !matchesAll(s.rule.Labels, kind.Labels) {
			continue
		}
		kind.Each(func(row uint32, all, ending int32) { on[row] += all - ending })
	}
	return on
}

// settle finds the domain that has fewest.
func (s *spread) settle() {
	if len(s.counts) < int(max(s.rule.MinDomains, 1)) {
		return
	}
	s.least = math.MaxInt32
	for _, n := range s.counts {
		s.least = min(s.least, n)
	}
}

// takesPart says whether a node with these labels has those of all spread rules.
func takesPart(all []spread, labels []poise.Label) bool {
	return !slices.ContainsFunc(all, func(s spread) bool {
		_, ok := poise.LabelValue(labels, s.rule.Key)
		return !ok
	})
}

func matchesAll(selectors []poise.Selector, labels []poise.Label) bool {
	return poise.Term(selectors).Matches(labels)
}

// Refuses implements Bar.
func (b *PodBar) Refuses(row uint32) poise.Reason {
	labels := b.snap.Labels(row)
	for i := range b.near {
		value, ok := poise.LabelValue(labels, b.near[i].key)
		switch {
		case !ok:
			return poise.NewReason(poise.NoDomain, 0)
		case !b.first && !b.near[i].values[value]:
			return poise.NewReason(poise.FarFromPods, 0)
		}
	}
	if among(b.apart, labels) {
		return poise.NewReason(poise.NearPods, 0)
	}
	if among(b.kept, labels) {
		return poise.NewReason(poise.KeptAway, 0)
	}
	for i := range b.spread {
		s := &b.spread[i]
		value, ok := poise.LabelValue(labels, s.rule.Key)
		switch {
		case !ok:
			return poise.NewReason(poise.NoDomain, 0)
		case s.counts[value]+s.self-s.least > s.rule.MaxSkew:
			return poise.NewReason(poise.Uneven, 0)
		}
	}
	return 0
}

// among says whether a node with these labels is in one of the places.
func among(all []places, labels []poise.Label) bool {
	return slices.ContainsFunc(all, func(p places) bool {
		value, ok := poise.LabelValue(labels, p.key)
		return ok && p.values[value]
	})
}
