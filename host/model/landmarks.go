package model

import "math"

// maxPoints bounds what is clustered: the dense eigenproblem is cubic in it.
const maxPoints = 512

// landmarks picks cells that stand for all cells: of each group the heaviest,
// then, up to limit in all, always the one with the largest weight x distance^2
// to the landmarks of its group so far (k-means++ with the draw replaced by the
// likeliest outcome; Arthur and Vassilvitskii 2007). It gives the landmarks in
// the order of cells, and for each cell the nearest landmark of its group, as an
// index into them. Cells are sorted by group, and no group is without one.
//
// The work is O(len(cells) x limit x features) at worst. By the triangle
// inequality a landmark further than twice a cell's distance from the cell's
// own landmark cannot be nearer, which saves most distances.
func landmarks(cells []Cell, weight []float64, limit int) (chosen, nearest []int) {
	c := &cover{cells: cells, far: make([]int64, len(cells)), by: make([]int, len(cells))}
	if len(cells) == 0 {
		return nil, nil
	}
	c.dims = len(cells[0].At)
	for i := range cells {
		c.at = append(c.at, cells[i].At...)
		c.far[i] = math.MaxInt64
	}
	for from := 0; from < len(cells); {
		to, heaviest := from, from
		for ; to < len(cells) && cells[to].Group == cells[from].Group; to++ {
			if weight[to] > weight[heaviest] {
				heaviest = to
			}
		}
		c.spans = append(c.spans, span{from, to})
		c.add(heaviest, span{from, to})
		from = to
	}
	for len(c.chosen) < limit {
		best, most := -1, 0.0
		for i, far := range c.far {
			if x := weight[i] * float64(far); x > most {
				best, most = i, x
			}
		}
		if best < 0 {
			break
		}
		c.add(best, c.spans[cells[best].Group])
	}
	return c.sorted()
}

type span struct{ from, to int }

// cover is cells with the nearest of the landmarks chosen so far. Distances are
// squared and in steps of the grid, so they are exact.
type cover struct {
	cells  []Cell
	dims   int
	at     []int16
	spans  []span
	chosen []int   // cells, in the order chosen
	by     []int   // per cell, index into chosen
	far    []int64 // per cell, squared distance to it
	apart  []int64 // scratch: from the newest landmark to each one
}

func (c *cover) distance(a, b int) int64 {
	x, y := c.at[a*c.dims:(a+1)*c.dims], c.at[b*c.dims:(b+1)*c.dims]
	var sum int64
	for i := range x {
		d := int64(x[i]) - int64(y[i])
		sum += d * d
	}
	return sum
}

// add makes a cell a landmark for the cells of its group, which s spans.
func (c *cover) add(cell int, s span) {
	c.apart = c.apart[:0]
	for _, l := range c.chosen {
		d := int64(math.MaxInt64)
		if c.cells[l].Group == c.cells[cell].Group {
			d = c.distance(l, cell)
		}
		c.apart = append(c.apart, d)
	}
	number := len(c.chosen)
	c.chosen = append(c.chosen, cell)
	for i := s.from; i < s.to; i++ {
		far := c.far[i]
		if far != math.MaxInt64 && c.apart[c.by[i]]/4 >= far {
			continue
		}
		if d := c.distance(i, cell); d < far {
			c.far[i], c.by[i] = d, number
		}
	}
}

// sorted renumbers the landmarks in the order of cells.
func (c *cover) sorted() (chosen, nearest []int) {
	number := make([]int, len(c.chosen))
	is := make(map[int]int, len(c.chosen))
	for i, cell := range c.chosen {
		is[cell] = i
	}
	for cell := range c.cells {
		if i, ok := is[cell]; ok {
			number[i] = len(chosen)
			chosen = append(chosen, cell)
		}
	}
	for cell := range c.by {
		c.by[cell] = number[c.by[cell]]
	}
	return chosen, c.by
}
