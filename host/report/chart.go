package report

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// series is one line of a chart, or one bar of each group.
type series struct {
	name   string
	class  string
	points []curvePoint
}

// chart is lines in a frame with axes.
type chart struct {
	title, label   string
	xTitle, yTitle string
	xLo, xHi       float64
	yLo, yHi       float64
	lines          []series
	diagonal       bool // draw where y = x
	names          bool // write the names at the right ends
}

// Measures of a chart in units of its drawing: small enough to be read when a
// phone scales it down.
const (
	chartWidth, chartHeight                = 440.0, 340.0
	marginLeft, marginTop                  = 44.0, 46.0
	marginRight, marginBottom              = 14.0, 40.0
	nameLetter, nameHeight                 = 7.2, 16.0
	maxName                                = 20 // runes of a name at a line's end
	ticksAcross, ticksDown                 = 7, 6
	leaderFrom, leaderTo, leaderBeforeName = 3.0, 13.0, 17.0
)

// draw lays the chart out. Lines without points are left out.
func (c *chart) draw(width float64) drawing {
	d := drawing{Label: c.label, W: width, H: chartHeight}
	right := marginRight
	c.names = c.names && c.distinct()
	if c.names {
		for i := range c.lines {
			right = max(right, leaderBeforeName+5+nameLetter*float64(utf8.RuneCountInString(shortened(c.lines[i].name))))
		}
	}
	x := scale{c.xLo, c.xHi, width - marginLeft - right}
	y := scale{c.yHi, c.yLo, chartHeight - marginTop - marginBottom} // down the page
	d.text("head", 4, 16, c.title)
	c.axes(&d, x, y)
	d.plot(marginLeft, marginTop, x.length, y.length, c.curves(x, y))
	if c.names {
		c.writeNames(&d, x, y)
	}
	return d
}

func (c *chart) axes(d *drawing, x, y scale) {
	bottom := marginTop + y.length
	values, decimals := scale{c.yLo, c.yHi, y.length}.ticks(ticksDown)
	for _, v := range values {
		at := marginTop + y.at(v)
		d.path("grid", "M", xy(marginLeft), " ", xy(at), "h", xy(x.length))
		d.text("mute small end", marginLeft-6, at+4, number(v, decimals))
	}
	values, decimals = x.ticks(ticksAcross)
	for _, v := range values {
		at := marginLeft + x.at(v)
		d.path("axis", "M", xy(at), " ", xy(bottom), "v4")
		d.text("mute small mid", at, bottom+17, number(v, decimals))
	}
	d.path("axis", "M", xy(marginLeft), " ", xy(bottom), "h", xy(x.length))
	d.text("mute small", 4, marginTop-12, c.yTitle)
	d.text("mute small end", marginLeft+x.length, bottom+34, c.xTitle)
}

// curves are the marks within the frame: ranges below, lines above, the first
// line on top of the others.
func (c *chart) curves(x, y scale) []mark {
	var bands, lines []mark
	if c.diagonal {
		lo, hi := min(c.xLo, c.yLo), max(c.xHi, c.yHi)
		bands = append(bands, mark{Kind: pathMark, Class: "diag", D: polyline([][2]float64{{x.at(lo), y.at(lo)}, {x.at(hi), y.at(hi)}})})
	}
	for _, s := range slices.Backward(c.lines) {
		var line, edge [][2]float64
		ranged := false
		for _, p := range s.points {
			line = append(line, [2]float64{x.at(p.x), y.at(p.mean)})
			edge = append(edge, [2]float64{x.at(p.x), y.at(p.hi)})
			ranged = ranged || p.lo != p.hi
		}
		for _, p := range slices.Backward(s.points) {
			edge = append(edge, [2]float64{x.at(p.x), y.at(p.lo)})
		}
		if ranged {
			bands = append(bands, mark{Kind: pathMark, Class: "band fill " + s.class, D: polyline(edge) + "Z"})
		}
		if len(line) > 0 {
			lines = append(lines, mark{Kind: pathMark, Class: "line " + s.class, D: polyline(line), Tip: s.name})
		}
	}
	return append(bands, lines...)
}

// writeNames puts each name beside the end of its line, moved apart where ends
// lie close together. Names that find no room are left to the legend.
func (c *chart) writeNames(d *drawing, x, y scale) {
	type ending struct {
		s      *series
		at, to float64
	}
	var ends []ending
	for i := range c.lines {
		s := &c.lines[i]
		if n := len(s.points); n > 0 {
			at := min(max(y.at(s.points[n-1].mean), 0), y.length)
			ends = append(ends, ending{s, at, at})
		}
	}
	if float64(len(ends))*nameHeight > y.length {
		return
	}
	slices.SortStableFunc(ends, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	apart(len(ends), y.length, func(i int) *float64 { return &ends[i].to })
	edge := marginLeft + x.length
	for _, e := range ends {
		d.path("line lead "+e.s.class, polyline([][2]float64{
			{edge + leaderFrom, marginTop + e.at}, {edge + leaderTo, marginTop + e.to}, {edge + leaderBeforeName, marginTop + e.to},
		}))
		d.text("small", edge+leaderBeforeName+3, marginTop+e.to+4, shortened(e.s.name))
	}
}

// apart moves n places in rising order until they are nameHeight from each
// other and within length: places that touch become a block around their mean.
func apart(n int, length float64, place func(int) *float64) {
	type block struct{ first, n, middle float64 }
	var blocks []block
	top := func(b block) float64 {
		return min(max(b.middle-(b.n-1)*nameHeight/2, 0), length-(b.n-1)*nameHeight)
	}
	for i := range n {
		blocks = append(blocks, block{float64(i), 1, *place(i)})
		for k := len(blocks) - 1; k > 0; k-- {
			a, b := blocks[k-1], blocks[k]
			if top(a)+a.n*nameHeight <= top(b) {
				break
			}
			blocks = append(blocks[:k-1], block{a.first, a.n + b.n, (a.n*a.middle + b.n*b.middle) / (a.n + b.n)})
		}
	}
	for _, b := range blocks {
		for i := range int(b.n) {
			*place(int(b.first) + i) = top(b) + float64(i)*nameHeight
		}
	}
}

// shortened cuts a name to the room that a chart has for it.
func shortened(name string) string {
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	return string([]rune(name)[:maxName-1]) + "…"
}

// distinct says whether the names are told apart as far as a chart has room for them:
// else they are left to the legend.
func (c *chart) distinct() bool {
	seen := map[string]bool{}
	for i := range c.lines {
		seen[shortened(c.lines[i].name)] = true
	}
	return len(seen) == len(c.lines)
}

// within gives the range of the lines between two places, NaN for nothing.
func within(lines []series, from, to float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, s := range lines {
		for _, p := range s.points {
			if p.x < from || p.x > to {
				continue
			}
			if math.IsNaN(lo) {
				lo, hi = p.lo, p.hi
			}
			lo, hi = min(lo, p.lo), max(hi, p.hi)
		}
	}
	return lo, hi
}
