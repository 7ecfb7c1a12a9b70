package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/model"
)

// island is the points of one make of device, in a plane.
type island struct {
	group  int
	points []int // into Model.Points
	nodes  int
	at     [][2]float64 // octaves, right and up, from 0 on
	size   [2]float64   // octaves
	axes   [2][]float64 // weight of each feature in right and up
}

// islandsOf lays out the points of each group, that with the most nodes first.
func islandsOf(m *model.Model) []island {
	all := make([]island, len(m.Groups))
	for i := range all {
		all[i].group = i
	}
	for i := range m.Points {
		l := &all[m.Points[i].Group]
		l.points = append(l.points, i)
		l.nodes += m.Points[i].Nodes
	}
	all = slices.DeleteFunc(all, func(l island) bool { return len(l.points) == 0 })
	for i := range all {
		all[i].place(m)
	}
	slices.SortStableFunc(all, func(a, b island) int { return cmp.Compare(b.nodes, a.nodes) })
	return all
}

// place takes the two principal axes of the points, each point weighing alike: a
// picture shows the kinds of nodes, however many there are of one. More of what
// weighs most is to the right and up.
func (l *island) place(m *model.Model) {
	rows := make([][]float64, len(l.points))
	for i, p := range l.points {
		rows[i] = m.Points[p].At
	}
	l.axes = principal(rows)
	l.at = make([][2]float64, len(rows))
	for axis := range l.axes {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i, row := range rows {
			v := 0.0
			for k, x := range row {
				v += x * l.axes[axis][k]
			}
			l.at[i][axis] = v
			lo, hi = min(lo, v), max(hi, v)
		}
		for i := range l.at {
			l.at[i][axis] -= lo
		}
		l.size[axis] = hi - lo
	}
}

// Measures of islands in units of their drawings.
const (
	islandSide    = 300.0 // of the largest
	islandLeast   = 36.0
	octaveMost    = 90.0
	islandHead    = 24.0
	captionHeight = 15.0
	dotLargest    = 20.0 // radius
	dotLeast      = 3.0
	dotRoom       = 8.0
	nameGap       = 30.0
)

// mapScale is what all islands share.
type mapScale struct {
	octave float64 // length in units
	dot    float64 // radius of one node
}

func scaleOf(islands []island) mapScale {
	longest := 1e-3
	for _, l := range islands {
		longest = max(longest, l.size[0], l.size[1])
	}
	return mapScale{octave: min(octaveMost, islandSide/longest)}
}

// draw gives the picture of an island: dots, and at the right the names of the
// classes with a line to the largest dot of each.
func (l *island) draw(m *model.Model, colours []string, s mapScale) drawing {
	largest := 1
	for i := range m.Points {
		largest = max(largest, m.Points[i].Nodes)
	}
	s.dot = dotLargest / math.Sqrt(float64(largest))
	room := dotRoom
	for _, p := range l.points {
		room = max(room, s.radius(m.Points[p].Nodes)+2)
	}
	inner := [2]float64{max(islandLeast, l.size[0]*s.octave), l.size[1] * s.octave}
	names := l.names(m)
	plotHeight := max(inner[1]+2*room, nameHeight*float64(len(names)))
	slack := [2]float64{(inner[0] - l.size[0]*s.octave) / 2, (plotHeight - 2*room - inner[1]) / 2}
	width := inner[0] + 2*room
	place := func(i int) (float64, float64) {
		return room + slack[0] + l.at[i][0]*s.octave, islandHead + plotHeight - room - slack[1] - l.at[i][1]*s.octave
	}
	title := groupText(&m.Groups[l.group])
	d := drawing{Label: "nodes with " + title + " by size, coloured by class", H: islandHead + plotHeight + 4}
	d.text("head", 0, 14, fmt.Sprintf("%s, %s", title, nodes(l.nodes)))
	d.W = nameLetter * float64(utf8.RuneCountInString(title)+14)

	d.rect("zone", 0, islandHead, width, plotHeight, "")
	order := make([]int, len(l.points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.Points[l.points[b]].Nodes, m.Points[l.points[a]].Nodes) })
	for _, i := range order {
		p := &m.Points[l.points[i]]
		x, y := place(i)
		d.circle("fill "+colours[p.Class]+" dot", x, y, s.radius(p.Nodes), pointText(m, p))
	}
	slices.SortStableFunc(names, func(a, b islandName) int {
		_, ay := place(a.point)
		_, by := place(b.point)
		return cmp.Compare(ay, by)
	})
	wanted := make([]float64, len(names))
	for i := range names {
		_, wanted[i] = place(names[i].point)
	}
	apart := spread(wanted, nameHeight, islandHead+nameHeight/2, islandHead+plotHeight-nameHeight/2)
	for i, n := range names {
		x, y := place(n.point)
		r := s.radius(m.Points[l.points[n.point]].Nodes)
		d.path("line lead thin "+colours[n.class], "M", xy(x+r), " ", xy(y), "L", xy(width+6), " ", xy(apart[i]), "H", xy(width+nameGap-14))
		d.text("small", width+nameGap-10, apart[i]+4, n.text)
		d.W = max(d.W, width+nameGap+nameLetter*float64(utf8.RuneCountInString(n.text)))
	}
	for axis, head := range []string{"right: ", "up: "} {
		if l.size[axis]*s.octave < 4 {
			continue
		}
		text := head + axisText(m.Settings.Features, l.axes[axis])
		d.text("mute small", 0, d.H+10, text)
		d.H += captionHeight
		d.W = max(d.W, letterWidth*float64(utf8.RuneCountInString(text)))
	}
	return d
}

func (s mapScale) radius(nodes int) float64 { return max(dotLeast, s.dot*math.Sqrt(float64(nodes))) }

// islandName is the name of a class beside its largest point.
type islandName struct {
	text  string
	class int // into Model.Classes
	point int // into island.points
}

func (l *island) names(m *model.Model) []islandName {
	var all []islandName
	for i, p := range l.points {
		class := m.Points[p].Class
		k := slices.IndexFunc(all, func(n islandName) bool { return n.class == class })
		if k < 0 {
			name := fmt.Sprintf("%s, %d", shortened(plain(m.Classes[class].Name)), m.Classes[class].Nodes)
			all = append(all, islandName{text: name, class: class, point: i})
		} else if m.Points[p].Nodes > m.Points[l.points[all[k].point]].Nodes {
			all[k].point = i
		}
	}
	return all
}

// spread moves ascending places apart by at least gap, within lo and hi.
func spread(wanted []float64, gap, lo, hi float64) []float64 {
	at := slices.Clone(wanted)
	next := lo
	for i := range at {
		at[i] = max(at[i], next)
		next = at[i] + gap
	}
	next = hi
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = min(at[i], next)
		next = at[i] - gap
	}
	return at
}

// pointText says what a dot stands for.
func pointText(m *model.Model, p *model.Point) string {
	parts := []string{plain(m.Classes[p.Class].Name) + ": " + nodes(p.Nodes)}
	for i, x := range p.At {
		if v := math.Exp2(x) - 1; v > 0 {
			parts = append(parts, plain(m.Settings.Features[i])+" "+short(math.Round(v*10)/10))
		}
	}
	return strings.Join(parts, ", ")
}

// axisText names the features that make up an axis, the weightiest first.
func axisText(features []string, axis []float64) string {
	order := make([]int, len(axis))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(axis[b]), math.Abs(axis[a])) })
	var parts []string
	for _, i := range order {
		if math.Abs(axis[i]) < 0.3 {
			break
		}
		sign := "more "
		if axis[i] < 0 {
			sign = "less "
		}
		parts = append(parts, sign+plain(features[i]))
	}
	return strings.Join(parts, ", ")
}

// scaleBar shows how long an octave is, and how long the resolution.
func scaleBar(m *model.Model, s mapScale) drawing {
	d := drawing{Label: "scale of the pictures", H: 44}
	bar := func(y, octaves float64, text string) {
		length := octaves * s.octave
		d.path("axis", "M", xy(1), " ", xy(y-4), "v8m0 -4h", xy(length), "m0 -4v8")
		d.text("mute small", length+10, y+4, text)
		d.W = max(d.W, length+10+letterWidth*float64(utf8.RuneCountInString(text)))
	}
	bar(10, 1, "one octave: twice as much of one resource")
	bar(32, m.Settings.Resolution, fmt.Sprintf("resolution: %v octaves", m.Settings.Resolution))
	return d
}
