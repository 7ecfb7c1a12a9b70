package model

import (
	"math"

	"github.com/poise-sched/poise/host/poise"
)

// Fit says how well a model knows a node.
type Fit uint8

// The ways in which a node can fit a model.
const (
	Provisional Fit = iota // like nothing in the model, so in no class until the next build
	Near                   // within the resolution of a point of the model
	Known                  // in a cell of the model, or in a pinned class
)

// Assignment is where a model puts a node.
type Assignment struct {
	Class    ClassID // 0 if Provisional
	Fit      Fit
	Distance float64 // octaves to the nearest point; 0 if Known, +Inf without a point of the same device model
}

// Assign puts a node into a class. A node in a known cell, or in a pinned
// class, is found by one look-up; any other by its distance to at most 512
// points. It changes nothing, so no node that joins can change the class of
// another.
func (m *Model) Assign(n *poise.Node) Assignment {
	if pin := m.Settings.pinOf(n); pin >= 0 {
		return Assignment{Class: m.Classes[m.pinned[pin]].ID, Fit: Known}
	}
	group, ok := m.groups[groupOf(n)]
	if !ok {
		return Assignment{Distance: math.Inf(1)}
	}
	var buf [maxKey]byte
	if class, ok := m.cells[string(cellKey(buf[:0], group, m.features, m.Step, n))]; ok {
		return Assignment{Class: m.Classes[class].ID, Fit: Known}
	}
	return m.nearest(n, group)
}

// nearest goes by the node's features, not by its cell; of equally near points
// the first wins.
func (m *Model) nearest(n *poise.Node, group int) Assignment {
	var at [maxFeatures]float64
	for i := range m.features {
		at[i] = m.features[i].of(n)
	}
	best, least := -1, math.Inf(1)
	for _, p := range m.byGroup[group] {
		var sum float64
		for i, x := range m.Points[p].At {
			sum += float64((x - at[i]) * (x - at[i]))
		}
		if sum < least {
			best, least = p, sum
		}
	}
	distance := math.Sqrt(least)
	if best < 0 || distance > m.Settings.Resolution {
		return Assignment{Distance: distance}
	}
	return Assignment{Class: m.Classes[m.Points[best].Class].ID, Fit: Near, Distance: distance}
}
