package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/spectral"
)

// keepGap is the share of the widest eigengap that the gap at the previous
// number of classes must have for that number to stay. Where two gaps are
// nearly equally wide a few nodes decide between them, and classes would come
// and go without need. Over 120 hard fleets with shapes half an octave apart,
// built anew in each of 30 rounds of 5 % churn, 0.24 % of the node-steps changed
// class without this rule and 0.011 % with it; the agreement with the true shapes
// stayed the same to 0.004. A quarter gave the figures of a half.
const keepGap = 0.5

// Build groups nodes into classes. Classes that hold mostly the nodes of a class
// of the previous model, which may be nil, keep its id and name. The nodes must
// be valid; their order does not matter. It is an error if a setting is out of
// range.
//
// The cost is O(nodes) for the cells and O(points^3), at most 512 points (or
// one for each device model), for the eigenproblem.
func Build(nodes []poise.Node, s Settings, previous *Model) (*Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := Record{Settings: s.clone(), Build: 1, NextClass: 1}
	if previous != nil {
		r.Build, r.NextClass = previous.Build+1, previous.NextClass
	}
	pins := make([]int, len(nodes))
	for i := range nodes {
		pins[i] = s.pinOf(&nodes[i])
	}
	g := r.collapse(nodes, pins)
	clustering, err := cluster(r.Spectral(), &s, previous)
	if err != nil {
		return nil, &poise.Error{Kind: poise.Internal, Op: "build model", Err: err}
	}
	r.K = clustering.K
	r.Eigenvalues = slices.Clone(clustering.Eigenvalues[:min(len(clustering.Eigenvalues), r.K+16)])
	for i := range r.Points {
		r.Points[i].Class = clustering.Labels[i]
	}
	of := make([]int, len(nodes))
	for i := range nodes {
		of[i] = r.K + pins[i]
		if pins[i] < 0 {
			of[i] = r.Points[g.cells[g.of[i]].Point].Class
		}
	}
	r.found(nodes, of, previous)
	return Restore(r)
}

func (s *Settings) clone() Settings {
	c := *s
	c.Features = slices.Clone(s.Features)
	c.Pinned = slices.Clone(s.Pinned)
	return c
}

// collapse fills in step, groups, cells and points. Where there are more cells
// than can be clustered the grid is made coarser, up to half the resolution;
// then landmarks stand for the cells.
func (r *Record) collapse(nodes []poise.Node, pins []int) grid {
	features := featuresOf(r.Settings.Features)
	g := collapse(nodes, pins, features, gridStep)
	for len(g.cells) > maxPoints && 2*g.step <= r.Settings.Resolution/2 {
		g = collapse(nodes, pins, features, 2*g.step)
	}
	r.Step, r.Groups, r.Cells = g.step, g.groups, g.cells
	chosen := make([]int, len(g.cells))
	for i := range g.cells {
		chosen[i], g.cells[i].Point = i, i
	}
	if len(g.cells) > maxPoints {
		weight := make([]float64, len(g.cells))
		for i := range g.cells {
			weight[i] = math.Pow(float64(g.cells[i].Nodes), r.Settings.WeightExponent)
		}
		var nearest []int
		chosen, nearest = landmarks(g.cells, weight, maxPoints)
		for i := range g.cells {
			g.cells[i].Point = nearest[i]
		}
	}
	r.Points = make([]Point, len(chosen))
	for i, cell := range chosen {
		r.Points[i] = Point{Group: g.cells[cell].Group, At: make([]float64, len(features))}
		for j, place := range g.cells[cell].At {
			r.Points[i].At[j] = float64(place) * g.step
		}
	}
	for i := range g.cells {
		r.Points[g.cells[i].Point].Nodes += g.cells[i].Nodes
	}
	return g
}

// cluster takes the number of classes with the largest eigengap, or that of the
// previous model if its gap is at least keepGap of it.
func cluster(p spectral.Points, s *Settings, previous *Model) (*spectral.Clustering, error) {
	found, err := spectral.Cluster(p, spectral.Settings{Sigma: s.Resolution})
	if err != nil || previous == nil || previous.K == found.K || !previous.Settings.alike(s) {
		return found, err
	}
	gap := gapAt(found.Eigenvalues, previous.K)
	if gap <= 0 || gap < keepGap*gapAt(found.Eigenvalues, found.K) {
		return found, nil
	}
	kept, err := spectral.Cluster(p, spectral.Settings{Sigma: s.Resolution, Classes: previous.K})
	if err != nil || kept.K != previous.K {
		return found, err
	}
	return kept, nil
}

// gapAt gives the eigengap at k classes, with a 1 after the last eigenvalue; 0
// where there cannot be k classes.
func gapAt(spectrum []float64, k int) float64 {
	switch {
	case k < 1 || k > len(spectrum):
		return 0
	case k == len(spectrum):
		return 1 - spectrum[k-1]
	}
	return spectrum[k] - spectrum[k-1]
}

// found fills in the classes: of gives each node's, first the K that were found,
// then those pinned. Points come to refer to them in the order of ids.
func (r *Record) found(nodes []poise.Node, of []int, previous *Model) {
	classes := describe(nodes, of, r.K+len(r.Settings.Pinned))
	for i, p := range r.Settings.Pinned {
		classes[r.K+i].Pinned, classes[r.K+i].Name = true, p.Name
	}
	keepIDs(classes, nodes, of, previous)
	r.NextClass = giveIDs(classes, r.NextClass)
	giveNames(classes)
	order := make([]int, len(classes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(classes[a].ID, classes[b].ID) })
	now := make([]int, len(classes))
	for i, was := range order {
		now[was] = i
		r.Classes = append(r.Classes, classes[was])
	}
	for i := range r.Points {
		r.Points[i].Class = now[r.Points[i].Class]
	}
}
