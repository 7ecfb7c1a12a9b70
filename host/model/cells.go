package model

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Cell is a small cube in the space of features, and the nodes in it at the
// time of the build. Its centre stands for all of them.
type Cell struct {
	Group int     // index into Record.Groups
	At    []int16 // per feature, the centre in steps of the grid
	Nodes int     // 1 or more
	Point int     // index into Record.Points: what was clustered in its place
}

// maxKey is the length of the longest cell key in bytes.
const maxKey = 4 + 2*maxFeatures

// cellKey appends group and place to key. Places are rounded half up, and reach
// 63 octaves over gridStep at most, which an int16 holds.
func cellKey(key []byte, group int, features []feature, step float64, n *poise.Node) []byte {
	key = binary.LittleEndian.AppendUint32(key, uint32(group))
	for i := range features {
		place := int16(math.Floor(features[i].of(n)/step + 0.5))
		key = binary.LittleEndian.AppendUint16(key, uint16(place))
	}
	return key
}

// keyOf gives the key of a finished cell.
func (c *Cell) keyOf(key []byte) []byte {
	key = binary.LittleEndian.AppendUint32(key, uint32(c.Group))
	for _, place := range c.At {
		key = binary.LittleEndian.AppendUint16(key, uint16(place))
	}
	return key
}

// grid is nodes collapsed into cells.
type grid struct {
	step   float64
	groups []Group // sorted
	cells  []Cell  // sorted by group and place
	of     []int   // cell by node; -1 where skip said so
}

// collapse puts nodes into the cells of a grid, except those with skip >= 0.
// Equal fleets give equal grids in whatever order their nodes come.
func collapse(nodes []poise.Node, skip []int, features []feature, step float64) grid {
	g := grid{step: step, groups: groupsOf(nodes, skip), of: make([]int, len(nodes))}
	groupIndex := indexOf(g.groups)
	index := map[string]int{}
	var buf [maxKey]byte
	for i := range nodes {
		if skip[i] >= 0 {
			g.of[i] = -1
			continue
		}
		group := groupIndex[groupOf(&nodes[i])]
		key := cellKey(buf[:0], group, features, step, &nodes[i])
		c, ok := index[string(key)]
		if !ok {
			c = len(g.cells)
			index[string(key)] = c
			g.cells = append(g.cells, newCell(key))
		}
		g.cells[c].Nodes++
		g.of[i] = c
	}
	g.sort()
	return g
}

func newCell(key []byte) Cell {
	c := Cell{Group: int(binary.LittleEndian.Uint32(key)), At: make([]int16, 0, (len(key)-4)/2)}
	for at := 4; at < len(key); at += 2 {
		c.At = append(c.At, int16(binary.LittleEndian.Uint16(key[at:])))
	}
	return c
}

// sort puts the cells in order and renumbers them.
func (g *grid) sort() {
	order := make([]int, len(g.cells))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &g.cells[a], &g.cells[b]
		return cmp.Or(cmp.Compare(x.Group, y.Group), slices.Compare(x.At, y.At))
	})
	cells, now := make([]Cell, len(order)), make([]int, len(order))
	for i, was := range order {
		cells[i], now[was] = g.cells[was], i
	}
	g.cells = cells
	for i, was := range g.of {
		if was >= 0 {
			g.of[i] = now[was]
		}
	}
}

func groupsOf(nodes []poise.Node, skip []int) []Group {
	seen := map[Group]bool{}
	var groups []Group
	for i := range nodes {
		if g := groupOf(&nodes[i]); skip[i] < 0 && !seen[g] {
			seen[g] = true
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Model, b.Model))
	})
	return groups
}

func indexOf(groups []Group) map[Group]int {
	index := make(map[Group]int, len(groups))
	for i, g := range groups {
		index[g] = i
	}
	return index
}
