package sched

import "container/heap"

// lesser is a total order of rows.
type lesser interface{ less(a, b uint32) bool }

// tree is a tournament over rows: every inner node holds the better of its two
// children, so the best row stands at the root, a changed row is played up in
// log2(rows) matches, and the next best ones are found along the paths of the
// better ones. Rows that are not candidates lose against all others.
type tree struct {
	leaves int      // a power of two, at least the number of rows
	win    []uint32 // win[1] is the root; the children of i are 2i and 2i+1
}

// reset sizes the tree for so many rows.
func (t *tree) reset(rows int) {
	n := 2
	for n < rows {
		n *= 2
	}
	if n != t.leaves {
		t.leaves, t.win = n, make([]uint32, n)
	}
}

// child gives the winner below position i, which may be a leaf.
func (t *tree) child(i int) uint32 {
	if i >= t.leaves {
		return uint32(i - t.leaves)
	}
	return t.win[i]
}

// build plays all matches anew.
func (t *tree) build(o lesser) {
	for i := t.leaves - 1; i > 0; i-- {
		t.play(i, o)
	}
}

func (t *tree) play(i int, o lesser) {
	l, r := t.child(2*i), t.child(2*i+1)
	if o.less(r, l) {
		l = r
	}
	t.win[i] = l
}

// update plays the matches of a row that changed. It stops where another row
// won before and wins again: nothing above has changed then.
func (t *tree) update(row uint32, o lesser) {
	for i := (t.leaves + int(row)) / 2; i > 0; i /= 2 {
		old := t.win[i]
		t.play(i, o)
		if old == t.win[i] && old != row {
			return
		}
	}
}

// walk gives the rows in order, best first, until yield has had enough. Each row
// costs log2(rows) matches and as many places in a heap of the subtrees whose
// winners are not out yet.
func (t *tree) walk(o lesser, yield func(row uint32) bool) {
	open := openTrees{tree: t, order: o, at: []int{1}}
	for len(open.at) > 0 {
		i := heap.Pop(&open).(int)
		row := t.child(i)
		if !yield(row) {
			return
		}
		for i < t.leaves { // the losers on the winner's path
			lost := 2*i + 1
			if i *= 2; t.child(i) != row {
				i, lost = lost, i
			}
			heap.Push(&open, lost)
		}
	}
}

// openTrees is a heap of positions, the one with the best winner in front.
type openTrees struct {
	tree  *tree
	order lesser
	at    []int
}

var _ heap.Interface = (*openTrees)(nil)

func (h *openTrees) Len() int { return len(h.at) }

func (h *openTrees) Less(i, j int) bool {
	return h.order.less(h.tree.child(h.at[i]), h.tree.child(h.at[j]))
}

func (h *openTrees) Swap(i, j int) { h.at[i], h.at[j] = h.at[j], h.at[i] }

func (h *openTrees) Push(x any) { h.at = append(h.at, x.(int)) }

func (h *openTrees) Pop() any {
	last := h.at[len(h.at)-1]
	h.at = h.at[:len(h.at)-1]
	return last
}

// tied appends the rows below position i that same says yes to. Of two children,
// the loser is no better, so below a winner that is not the same none is.
func (t *tree) tied(out []uint32, i int, same func(row uint32) bool) []uint32 {
	row := t.child(i)
	switch {
	case !same(row):
		return out
	case i >= t.leaves:
		return append(out, row)
	}
	return t.tied(t.tied(out, 2*i, same), 2*i+1, same)
}
