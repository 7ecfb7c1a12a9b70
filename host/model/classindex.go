package model

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// NewClassIndex makes an index of the model's classes. It goes by the class
// label that each node carries; nodes without one, or with one that the model
// does not know, are a class of their own.
func NewClassIndex(m *Model) *Index {
	ids := make(map[string]uint32, len(m.Classes))
	for i := range m.Classes {
		ids[m.Classes[i].Name] = uint32(m.Classes[i].ID)
	}
	classOf := func(snap *state.Snapshot, row uint32) uint32 {
		name, _ := ClassOf(snap.Labels(row))
		return ids[name]
	}
	return NewIndex(classOf, func(class uint32) string { return m.Name(ClassID(class)) })
}

// ClassOf gives the class name that a node's labels, sorted by key, carry.
func ClassOf(labels []poise.Label) (string, bool) {
	i, ok := findLabel(labels, ClassLabel)
	if !ok {
		return "", false
	}
	return labels[i].Value, true
}

// Built gives the event that puts the model in force on a fleet: labels for the
// nodes whose labels it changes.
func (m *Model) Built(nodes []poise.Node) poise.ModelBuilt {
	b := poise.ModelBuilt{Model: &m.Record}
	for i := range nodes {
		n := &nodes[i]
		if labels := Labelled(n.Labels, m.Labels(n)); !slices.Equal(labels, n.Labels) {
			b.Labels = append(b.Labels, poise.NodeLabels{Node: n.Name, Labels: labels})
		}
	}
	return b
}

// Labelled gives a node's own labels with those of a model, which take the place
// of own ones of the same key. Both are sorted by key, and so is the result.
func Labelled(own, model []poise.Label) []poise.Label {
	all := slices.Clone(own)
	for _, l := range model {
		i, ok := findLabel(all, l.Key)
		if ok {
			all[i] = l
		} else {
			all = slices.Insert(all, i, l)
		}
	}
	return all
}

func findLabel(labels []poise.Label, key string) (int, bool) {
	return slices.BinarySearchFunc(labels, key, func(l poise.Label, key string) int { return cmp.Compare(l.Key, key) })
}
