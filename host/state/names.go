package state

import "sort"

// rankGap is the distance between neighbours when all names are numbered anew.
// 2^40 leaves room for 2^24 nodes and for 40 halvings between two of them.
const rankGap = 1 << 40

// named is a present node's name, its row and its rank.
type named struct {
	name string
	row  uint32
	rank uint64
}

// names orders the present nodes by name and gives each a rank, so that the
// tie rule compares integers. Joins are collected and merged when the next
// reader comes, which makes a fleet of n cost n log n however it is ordered.
type names struct {
	sorted  []named
	pending []named
}

func (n *names) add(name string, row uint32) {
	n.pending = append(n.pending, named{name: name, row: row})
}

func (n *names) remove(name string) {
	for i := range n.pending {
		if n.pending[i].name == name {
			n.pending = append(n.pending[:i], n.pending[i+1:]...)
			return
		}
	}
	i := sort.Search(len(n.sorted), func(i int) bool { return n.sorted[i].name >= name })
	n.sorted = append(n.sorted[:i], n.sorted[i+1:]...)
}

// flush merges the pending names and calls set for every row whose rank is new.
func (n *names) flush(set func(row uint32, rank uint64)) {
	if len(n.pending) == 0 {
		return
	}
	sort.Slice(n.pending, func(i, j int) bool { return n.pending[i].name < n.pending[j].name })
	merged := make([]named, 0, len(n.sorted)+len(n.pending))
	crowded := false
	for old := 0; len(n.pending) > 0 || old < len(n.sorted); {
		if len(n.pending) == 0 || old < len(n.sorted) && n.sorted[old].name < n.pending[0].name {
			merged = append(merged, n.sorted[old])
			old++
			continue
		}
		run := 1 // pending names that fall between the same two neighbours
		for run < len(n.pending) && (old == len(n.sorted) || n.pending[run].name < n.sorted[old].name) {
			run++
		}
		var below uint64
		if len(merged) > 0 {
			below = merged[len(merged)-1].rank
		}
		gap := uint64(rankGap)
		if old < len(n.sorted) {
			gap = (n.sorted[old].rank - below) / uint64(run+1)
		}
		crowded = crowded || gap == 0
		for i := range run {
			e := n.pending[i]
			e.rank = below + gap*uint64(i+1)
			merged = append(merged, e)
			set(e.row, e.rank)
		}
		n.pending = n.pending[run:]
	}
	n.sorted, n.pending = merged, nil
	if crowded || merged[len(merged)-1].rank > 1<<63 {
		for i := range merged {
			merged[i].rank = uint64(i+1) * rankGap
			set(merged[i].row, merged[i].rank)
		}
	}
}
