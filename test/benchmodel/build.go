package main

import (
	"fmt"
	"os"
	"time"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/test/fleets"
)

// build times the model against scikit-learn on fleets of 20 known kinds, which
// both must find. Poise's time is from the nodes to the class of every node,
// with features and the number of classes; scikit-learn is given both, and the
// number of neighbours with which it was the fastest that finds the kinds: its
// usual 10 are too few at 10,000 nodes and more, 20 too many at 1,000, where a
// kind may have fewer nodes.
func build(rounds int, full bool) ([]report.Figure, error) {
	p, err := newPeer()
	if err != nil {
		return nil, err
	}
	if p == nil {
		fmt.Fprintln(os.Stderr, "no python3 with scikit-learn (Debian: apt-get install python3-sklearn): its figures are left out")
	} else if !full {
		fmt.Fprintln(os.Stderr, "scikit-learn is left out at 100,000 nodes, where it takes about a minute: -full measures it")
	}
	var figures []report.Figure
	for _, c := range []struct {
		nodes, neighbours, rounds int
		peer                      *peer
		ratio                     float64
		seconds                   report.Goal
	}{
		{1_000, 10, rounds, p, 40, report.Goal{}},
		{10_000, 20, rounds, p, 100, report.Goal{}},
		{100_000, 40, 1, p, 80, report.AtMost(0.3)},
	} {
		if c.nodes == 100_000 && !full {
			c.peer, c.rounds = nil, rounds
		}
		v, err := versus(c.nodes, c.rounds, c.peer, c.neighbours)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("build, %d,000 nodes: ", c.nodes/1000)
		figures = append(figures,
			report.Figure{Name: name + "poise", Value: v.built.Seconds(), Unit: "s", Goal: c.seconds},
			report.Figure{Name: name + "poise, agreement with the kinds", Value: v.agrees, Unit: "ARI", Goal: report.AtLeast(1)},
		)
		if c.peer == nil {
			continue
		}
		figures = append(figures,
			report.Figure{Name: name + "scikit-learn", Value: v.peer.Seconds(), Unit: "s"},
			report.Figure{Name: name + "scikit-learn, agreement with the kinds", Value: v.peerAgrees, Unit: "ARI", Goal: report.AtLeast(1)},
			report.Figure{Name: name + "scikit-learn against poise", Value: v.peer.Seconds() / v.labelled.Seconds(), Unit: "x time", Goal: report.AtLeast(c.ratio)},
		)
	}
	if p == nil {
		return figures, nil
	}
	return figures, p.stop()
}

// compared is the fastest of some rounds of both, and how well they agree with
// the kinds that the nodes were drawn from.
type compared struct {
	built    time.Duration // model.Build
	labelled time.Duration // the same and the class of every node
	agrees   float64

	peer       time.Duration
	peerAgrees float64
}

// versus lets the two take turns; p may be nil.
func versus(n, rounds int, p *peer, neighbours int) (*compared, error) {
	f := fleets.Known(n, 20, 0.03, 1)
	features := featuresOf(f)
	var v compared
	for range rounds {
		if p != nil {
			spent, labels, err := p.cluster(features, len(f.Shapes), neighbours)
			if err != nil {
				return nil, err
			}
			v.peer, v.peerAgrees = faster(v.peer, spent), agreement(labels, f.Truth)
		}
		classes := make([]int, n)
		began := time.Now()
		m, err := model.Build(f.Nodes, model.Defaults(), nil)
		if err != nil {
			return nil, err
		}
		v.built = faster(v.built, time.Since(began))
		for i := range f.Nodes {
			classes[i] = int(m.Assign(&f.Nodes[i]).Class)
		}
		v.labelled = faster(v.labelled, time.Since(began))
		v.agrees = agreement(classes, f.Truth)
	}
	return &v, nil
}

// faster gives the smaller of two times; 0 is none yet.
func faster(best, spent time.Duration) time.Duration {
	if best == 0 {
		return spent
	}
	return min(best, spent)
}
