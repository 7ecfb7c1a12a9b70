package poise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Label is one key with its value on a node.
type Label struct{ Key, Value string }

// Op is the operator of a Selector.
type Op string

// The operators, with the meaning that Kubernetes gives them: NotIn and
// DoesNotExist also match a node without the key; Gt and Lt compare integers
// and never match a missing or non-integer value. Prefix, which Kubernetes does
// not have, matches a value that begins with one of the values: node classes are
// named so that "gpu-" or "gpu-v100m32" says something.
const (
	In           Op = "In"
	NotIn        Op = "NotIn"
	Exists       Op = "Exists"
	DoesNotExist Op = "DoesNotExist"
	Gt           Op = "Gt"
	Lt           Op = "Lt"
	Prefix       Op = "Prefix"
)

// Selector is one requirement on a node's labels. All selectors of a job must
// match.
type Selector struct {
	Key    string
	Op     Op
	Values []string
}

// Matches says whether a node with these labels (sorted by key) satisfies s.
func (s *Selector) Matches(labels []Label) bool {
	value, ok := LabelValue(labels, s.Key)
	switch s.Op {
	case In:
		return ok && contains(s.Values, value)
	case NotIn:
		return !ok || !contains(s.Values, value)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	case Prefix:
		return ok && slices.ContainsFunc(s.Values, func(v string) bool { return strings.HasPrefix(value, v) })
	case Gt, Lt:
		have, err := strconv.ParseInt(value, 10, 64)
		if !ok || err != nil {
			return false
		}
		want, err := strconv.ParseInt(s.Values[0], 10, 64)
		if err != nil {
			return false
		}
		if s.Op == Gt {
			return have > want
		}
		return have < want
	}
	return false
}

// Validate checks the operator and how many values it takes.
func (s *Selector) Validate() error {
	if s.Key == "" {
		return invalid("selector", "key: empty, expected a label key")
	}
	switch s.Op {
	case In, NotIn, Prefix:
		if len(s.Values) == 0 {
			return invalid("selector", fmt.Sprintf("%s %s: no values, expected at least one", s.Key, s.Op))
		}
	case Exists, DoesNotExist:
		if len(s.Values) != 0 {
			return invalid("selector", fmt.Sprintf("%s %s: %d values, expected none", s.Key, s.Op, len(s.Values)))
		}
	case Gt, Lt:
		if len(s.Values) != 1 {
			return invalid("selector", fmt.Sprintf("%s %s: %d values, expected one integer", s.Key, s.Op, len(s.Values)))
		}
		if _, err := strconv.ParseInt(s.Values[0], 10, 64); err != nil {
			return invalid("selector", fmt.Sprintf("%s %s: value %q, expected an integer", s.Key, s.Op, s.Values[0]))
		}
	default:
		return invalid("selector", fmt.Sprintf("%s: operator %q, expected In, NotIn, Exists, DoesNotExist, Gt, Lt or Prefix", s.Key, s.Op))
	}
	return nil
}

// LabelValue gives the value of a key among a node's labels, and whether it has one.
func LabelValue(labels []Label, key string) (string, bool) {
	for i := range labels {
		if labels[i].Key == key {
			return labels[i].Value, true
		}
	}
	return "", false
}

func contains(values []string, v string) bool {
	for _, w := range values {
		if w == v {
			return true
		}
	}
	return false
}
