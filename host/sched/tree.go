package sched

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
func (t *tree) build(o *order) {
	for i := t.leaves - 1; i > 0; i-- {
		t.play(i, o)
	}
}

func (t *tree) play(i int, o *order) {
	l, r := t.child(2*i), t.child(2*i+1)
	if o.less(r, l) {
		l = r
	}
	t.win[i] = l
}

// update plays the matches of a row that changed. It stops where another row
// won before and wins again: nothing above has changed then.
func (t *tree) update(row uint32, o *order) {
	for i := (t.leaves + int(row)) / 2; i > 0; i /= 2 {
		old := t.win[i]
		t.play(i, o)
		if old == t.win[i] && old != row {
			return
		}
	}
}

// best appends up to n rows in order, best first, leaving out those that keep
// says no to, and everything behind the first such row.
func (t *tree) best(out []uint32, n int, o *order, keep func(row uint32) bool) []uint32 {
	open := []int{1} // subtrees whose winners are not out yet
	for len(out) < n && len(open) > 0 {
		at := 0
		for i := range open {
			if o.less(t.child(open[i]), t.child(open[at])) {
				at = i
			}
		}
		i := open[at]
		row := t.child(i)
		if !keep(row) {
			break
		}
		out = append(out, row)
		open = append(open[:at], open[at+1:]...)
		for i < t.leaves { // the losers on the winner's path
			if t.child(2*i) == row {
				open = append(open, 2*i+1)
				i = 2 * i
			} else {
				open = append(open, 2*i)
				i = 2*i + 1
			}
		}
	}
	return out
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
