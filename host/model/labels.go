package model

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
)

// The keys of the labels that a model gives to nodes.
const (
	ClassLabel = poise.ClassLabel
	RatioLabel = "poise.dev/memory-ratio"
	labelHead  = "poise.dev/"
)

// Labels gives what the model says of a node, sorted by key: the name of its
// class, or ProvisionalName; compute, general or highmem by its memory per core,
// unless it has neither; and for a node with devices their model, if they have
// one, and count, under keys such as poise.dev/gpu-model and
// poise.dev/gpu-count.
func (m *Model) Labels(n *poise.Node) []poise.Label {
	labels := make([]poise.Label, 1, 4)
	labels[0] = poise.Label{Key: ClassLabel, Value: m.Name(m.Assign(n).Class)}
	cpu, memory := cpuAndMemory(n)
	if cpu > 0 || memory > 0 {
		labels = append(labels, poise.Label{Key: RatioLabel, Value: ratioName(memoryRatio(cpu, memory), cpu)})
	}
	if d := &n.Devices; d.Count > 0 {
		key := labelHead + shortKind(d.Kind)
		labels = append(labels, poise.Label{Key: key + "-count", Value: strconv.Itoa(int(d.Count))})
		if d.Model != "" {
			labels = append(labels, poise.Label{Key: key + "-model", Value: d.Model})
		}
	}
	slices.SortFunc(labels, func(a, b poise.Label) int { return cmp.Compare(a.Key, b.Key) })
	return labels
}

// Class gives the class with an id, or nil. It must not be changed.
func (m *Model) Class(id ClassID) *Class {
	i, ok := slices.BinarySearchFunc(m.Classes, id, func(c Class, id ClassID) int { return cmp.Compare(c.ID, id) })
	if !ok {
		return nil
	}
	return &m.Classes[i]
}

// Name gives the name of a class, or ProvisionalName for an id that the model
// does not have.
func (m *Model) Name(id ClassID) string {
	if c := m.Class(id); c != nil {
		return c.Name
	}
	return ProvisionalName
}
