package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Key      string // of a setting, or what stands where one should; empty for a whole file
	Value    string
	Expected string
	Origin   Origin
}

// Error gives `origin: key: "value", expected …`.
func (p Problem) Error() string {
	text := p.Origin.String() + ": "
	if p.Key != "" {
		text += p.Key + ": "
	}
	if p.Value != "" {
		text += fmt.Sprintf("%q, ", p.Value)
	}
	return text + "expected " + p.Expected
}

// Problems is everything that is wrong with a configuration, in the order of
// its sources, a file from top to bottom.
type Problems []Problem

// Error gives a line to each problem.
func (ps Problems) Error() string {
	if len(ps) == 1 {
		return "configuration: " + ps[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d problems", len(ps))
	for _, p := range ps {
		b.WriteString("\n  ")
		b.WriteString(p.Error())
	}
	return b.String()
}

// Unwrap gives each problem to errors.As.
func (ps Problems) Unwrap() []error {
	all := make([]error, len(ps))
	for i := range ps {
		all[i] = ps[i]
	}
	return all
}

// err gives the problems in order, or nil.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.Source, b.Origin.Source), cmp.Compare(a.Origin.Line, b.Origin.Line), strings.Compare(a.Key, b.Key))
	})
	return ps
}
