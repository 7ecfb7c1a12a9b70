package model

import (
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Settings say how nodes are grouped.
type Settings struct {
	// Resolution is the standard deviation of the similarity, in octaves (an
	// octave is a factor of two in one resource), 0.05 to 4. Nodes much closer
	// than this fall into one class. A node further than this from everything
	// that the model has seen is provisional.
	Resolution float64
	// WeightExponent, 0 to 1, says how much the number of nodes of a kind
	// counts: at 1 every node does, at 0 every kind does.
	WeightExponent float64
	// Features are the names of the dimensions that are compared, 1 to 16 of
	// them: a dimension of the capacity, or "devices" for the number of devices.
	Features []string
	// Pinned classes are an operator's own. The first that matches takes a
	// node, which then has no part in the clustering.
	Pinned []Pin
}

// Pin is a class that an operator defines: the nodes that match all Selectors.
type Pin struct {
	Name      string
	Selectors []poise.Selector
}

// ProvisionalName is the value of the class label of a node that no class of the
// model fits. No class has this name.
const ProvisionalName = "provisional"

const (
	// gridStep is the width of a cell in octaves, 3.5 %: less than what tells
	// machines apart, more than most of the noise in what nodes report.
	gridStep    = 0.05
	maxFeatures = 16
)

// Defaults gives the settings that tell apart what people tell apart in the
// public openb fleet.
func Defaults() Settings {
	return Settings{
		Resolution:     0.5,
		WeightExponent: 0.5,
		Features:       []string{"cpu", "memory", deviceFeature, "storage", "bandwidth"},
	}
}

// Validate checks every field and names the first that is wrong.
func (s *Settings) Validate() error {
	if !(s.Resolution >= gridStep && s.Resolution <= 4) {
		return invalid("resolution: %v, expected %v to 4 octaves", s.Resolution, gridStep)
	}
	if !(s.WeightExponent >= 0 && s.WeightExponent <= 1) {
		return invalid("weight exponent: %v, expected 0 to 1", s.WeightExponent)
	}
	if n := len(s.Features); n == 0 || n > maxFeatures {
		return invalid("features: %d, expected 1 to %d", n, maxFeatures)
	}
	for i, name := range s.Features {
		if name == "" {
			return invalid("features: empty name, expected a dimension such as cpu")
		}
		if slices.Contains(s.Features[:i], name) {
			return invalid("features: %q given twice, expected once", name)
		}
	}
	for i := range s.Pinned {
		if err := s.Pinned[i].validate(s.Pinned[:i]); err != nil {
			return err
		}
	}
	return nil
}

// validate checks a pin against itself and the ones before it. The length and
// the characters of a name are those of a node, of which a class name becomes a
// label.
func (p *Pin) validate(before []Pin) error {
	probe := poise.Node{Name: p.Name}
	switch {
	case p.Name == "":
		return invalid("pinned: class with an empty name, expected a name")
	case probe.Validate() != nil:
		return invalid("pinned: class %q, expected a name without space or control characters", p.Name)
	case p.Name == ProvisionalName:
		return invalid("pinned: class %q, expected another name: nodes without a class have this one", p.Name)
	case slices.ContainsFunc(before, func(q Pin) bool { return q.Name == p.Name }):
		return invalid("pinned: class %q given twice, expected once", p.Name)
	case len(p.Selectors) == 0:
		return invalid("pinned: class %q without selectors, expected at least one", p.Name)
	}
	for i := range p.Selectors {
		if err := p.Selectors[i].Validate(); err != nil {
			return &poise.Error{Kind: poise.Invalid, Op: settingsOp, Detail: fmt.Sprintf("pinned: class %q", p.Name), Err: err}
		}
	}
	return nil
}

// pinOf gives the index of the first pin that matches a node, or -1.
func (s *Settings) pinOf(n *poise.Node) int {
	for i := range s.Pinned {
		if s.Pinned[i].matches(n) {
			return i
		}
	}
	return -1
}

func (p *Pin) matches(n *poise.Node) bool {
	for i := range p.Selectors {
		if !p.Selectors[i].Matches(n.Labels) {
			return false
		}
	}
	return true
}

// alike says whether two models under these settings can be compared by their
// number of classes.
func (s *Settings) alike(o *Settings) bool {
	return s.Resolution == o.Resolution && s.WeightExponent == o.WeightExponent && slices.Equal(s.Features, o.Features)
}

const settingsOp = "model settings"

func invalid(format string, args ...any) error {
	return &poise.Error{Kind: poise.Invalid, Op: settingsOp, Detail: fmt.Sprintf(format, args...)}
}
