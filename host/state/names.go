package state

import (
	"math"
	"slices"
	"sort"
	"strings"
)

const (
	// rankGap is the distance between neighbours when all names are numbered
	// anew. 2^40 leaves room for 2^24 nodes and for 40 halvings between two.
	rankGap = 1 << 40
	// gone is the row of a name whose node left.
	gone = math.MaxUint32
	// manyPending bounds the pending names that a departure looks through.
	manyPending = 64
)

// named is a node's name and its row.
type named struct {
	name string
	row  uint32
}

// names orders the present nodes by name and gives each a rank, so that the
// tie rule compares integers. Joins are collected and merged when the next
// reader comes, which makes a fleet of n cost n log n however it is ordered;
// departures leave a mark, and the marked ones are dropped together.
type names struct {
	sorted  []named // by name
	marked  int     // those in sorted whose row is gone, at most half of them
	pending []named // in the order of joining; none is in sorted unless gone there
}

// ranks reads and writes the rank of a row.
type ranks interface {
	rank(row uint32) uint64
	setRank(row uint32, rank uint64)
}

func (n *names) add(name string, row uint32) {
	n.pending = append(n.pending, named{name: name, row: row})
}

// remove takes out the name of a node that leaves.
func (n *names) remove(name string, r ranks) {
	if len(n.pending) > manyPending {
		n.flush(r)
	}
	for i := range n.pending {
		if n.pending[i].name == name {
			n.pending = slices.Delete(n.pending, i, i+1)
			return
		}
	}
	i := sort.Search(len(n.sorted), func(i int) bool { return n.sorted[i].name >= name })
	n.sorted[i].row = gone
	if n.marked++; n.marked > len(n.sorted)/2 {
		n.sorted = slices.DeleteFunc(n.sorted, func(e named) bool { return e.row == gone })
		n.marked = 0
	}
}

// flush merges the pending names and gives each a rank between those of its
// neighbours, or all names new ranks where there is no room.
func (n *names) flush(r ranks) {
	if len(n.pending) == 0 {
		return
	}
	slices.SortFunc(n.pending, func(a, b named) int { return strings.Compare(a.name, b.name) })
	merged := make([]named, 0, len(n.sorted)+len(n.pending))
	below, crowded := uint64(0), false
	for old, pending := n.sorted, n.pending; len(old) > 0 || len(pending) > 0; {
		switch {
		case len(old) > 0 && old[0].row == gone:
			old = old[1:]
			continue
		case len(pending) == 0 || len(old) > 0 && old[0].name < pending[0].name:
			merged, below = append(merged, old[0]), r.rank(old[0].row)
			old = old[1:]
			continue
		}
		run := 1 // pending names that fall between the same two neighbours
		for run < len(pending) && (len(old) == 0 || pending[run].name < old[0].name) {
			run++
		}
		gap := uint64(rankGap)
		if len(old) > 0 {
			gap = (r.rank(old[0].row) - below) / uint64(run+1)
		}
		crowded = crowded || gap == 0
		for _, e := range pending[:run] {
			below += gap
			r.setRank(e.row, below)
		}
		merged, pending = append(merged, pending[:run]...), pending[run:]
	}
	n.sorted, n.marked, n.pending = merged, 0, nil
	if crowded || below > 1<<63 {
		for i := range merged {
			r.setRank(merged[i].row, uint64(i+1)*rankGap)
		}
	}
}
