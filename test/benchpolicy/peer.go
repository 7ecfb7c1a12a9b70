package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// fewestTimes is how many times less a node is to cost than at the peer.
const fewestTimes = 100

// peerCycle is how many nodes the peer is asked about in one scheduling cycle, the
// fewest that kube-scheduler scores by default. Its guest's time per node grows
// with the nodes of the cycle, so this is the figure most in its favour.
const peerCycle = 100

// wholeRounds is how often the peer is asked about all nodes in one cycle, which
// takes seconds.
const wholeRounds = 2

// numberLabel is the label that holds the digit in which a node's name ends.
const numberLabel = "number"

// peerNodes gives names of nodes, most of which end in a digit.
func peerNodes() []string {
	names := make([]string, passRows)
	for i := range names {
		names[i] = fmt.Sprintf("node-%06d", i)
		if i%11 == 0 {
			names[i] += "x"
		}
	}
	return names
}

// lastDigit gives the digit that a name ends in, "" where it ends in none.
func lastDigit(name string) string {
	if last := name[len(name)-1:]; last >= "0" && last <= "9" {
		return last
	}
	return ""
}

// againstPeer times the policy nodenumber on 10,000 nodes: the peer's guest, called
// once a node by a host that does the least it can, against the policy of the
// same work here, through the whole of host/policy with fuel, copies, resets and
// checks. All scores have to agree. The one difference in work: the peer's guest
// takes the digit from the name, here it is a label.
func (b *bench) againstPeer() ([]report.Figure, error) {
	if b.peer == "" {
		fmt.Fprintln(os.Stderr, "benchpolicy: the peer is left out: no -peer, expected a checkout of kube-scheduler-wasm-extension")
		return nil, nil
	}
	bin, err := os.ReadFile(filepath.Join(b.peer, "examples", "nodenumber", "main.wasm"))
	if err != nil {
		return nil, err
	}
	names := peerNodes()
	theirs, err := newPeerGuest(bin)
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	defer theirs.close()
	ours, err := b.newNumbered(names)
	if err != nil {
		return nil, err
	}
	defer ours.close()

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var inCycles, inOne, here time.Duration
	keep := func(least *time.Duration, d time.Duration) {
		if *least == 0 || d < *least {
			*least = d
		}
	}
	scores := make([]int32, len(names))
	for round := range b.rounds {
		digit := fmt.Sprint(round % 10)
		d, err := theirs.pass(digit, names, peerCycle, scores)
		if err != nil {
			return nil, fmt.Errorf("peer: %w", err)
		}
		keep(&inCycles, d)
		if round < wholeRounds {
			if d, err = theirs.pass(digit, names, len(names), scores); err != nil {
				return nil, fmt.Errorf("peer: %w", err)
			}
			keep(&inOne, d)
		}
		for range samples {
			if d, err = ours.pass(digit); err != nil {
				return nil, err
			}
			keep(&here, d)
		}
		for i, name := range names {
			if ours.loss[i] != float64(10-scores[i]) {
				return nil, fmt.Errorf("peer: node %s, job %s: score %d, the loss here is %v", name, digit, scores[i], ours.loss[i])
			}
		}
	}
	perNode := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(len(names)) }
	return []report.Figure{
		{Name: "nodenumber of the peer, cycles of 100 nodes", Value: perNode(inCycles), Unit: "ns/node"},
		{Name: "  all 10,000 nodes in one cycle", Value: perNode(inOne), Unit: "ns/node"},
		{Name: "the same scores here, 10,000 nodes, digit in a label", Value: perNode(here), Unit: "ns/node"},
		{Name: "  peer in cycles of 100 over the time here", Value: perNode(inCycles) / perNode(here), Unit: "x", Goal: report.AtLeast(fewestTimes)},
	}, nil
}

// pass scores the nodes in cycles of so many and gives the processor time of
// the calls of score. What begins a cycle is left out, in the peer's favour.
func (g *peerGuest) pass(digit string, names []string, cycle int, scores []int32) (time.Duration, error) {
	var sum time.Duration
	for from := 0; from < len(names); from += cycle {
		if err := g.begin("pod-" + digit); err != nil {
			return 0, err
		}
		before := processorTime()
		for i := from; i < min(from+cycle, len(names)); i++ {
			score, err := g.score(names[i])
			if err != nil {
				return 0, err
			}
			scores[i] = score
		}
		sum += processorTime() - before
	}
	return sum, nil
}

// numbered is a fleet whose nodes have their digit as a label, and the policy for
// a job of each digit.
type numbered struct {
	engine *policy.Engine
	guests map[string]*policy.Guest
	batch  state.Batch
	loss   []float64
	masks  []uint32
}

func (b *bench) newNumbered(names []string) (*numbered, error) {
	bin, err := os.ReadFile(filepath.Join(b.kernels, "nodenumber.wasm"))
	if err != nil {
		return nil, err
	}
	n := &numbered{guests: map[string]*policy.Guest{}, loss: make([]float64, len(names)), masks: make([]uint32, len(names))}
	if n.engine, err = engine(); err != nil {
		return nil, err
	}
	m, err := n.engine.Load(context.Background(), bin)
	if err != nil {
		return nil, err
	}
	w, err := newWorld(0, poise.SymbolsWanted{})
	if err != nil {
		return nil, err
	}
	for digit := range 10 {
		text := fmt.Sprint(digit)
		g, err := policy.NewGuest(m, map[string]string{numberLabel: text})
		if err != nil {
			return nil, err
		}
		n.guests[text] = g
		if err := w.apply(g.Symbols()); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		node := poise.Node{Name: name, Capacity: resource.List{{Name: "cpu", Value: 64_000}}}
		if digit := lastDigit(name); digit != "" {
			node.Labels = []poise.Label{{Key: numberLabel, Value: digit}}
		}
		if err := w.apply(poise.NodeJoined{Node: node}); err != nil {
			return nil, err
		}
	}
	job, err := w.submit()
	if err != nil {
		return nil, err
	}
	n.batch = state.Batch{Snap: w.state.View(), Job: job, Rows: w.rows()}
	return n, nil
}

// pass scores all nodes for a job of the digit and gives the processor time of it all.
func (n *numbered) pass(digit string) (time.Duration, error) {
	g := n.guests[digit]
	before := processorTime()
	g.Prepare(n.batch.Snap, n.batch.Job)
	err := g.Score(&n.batch, n.loss, n.masks)
	return processorTime() - before, err
}

func (n *numbered) close() {
	for _, g := range n.guests {
		g.Close()
	}
	_ = n.engine.Close(context.Background())
}
