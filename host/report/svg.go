package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is one SVG picture in units of its own, which a page scales.
type drawing struct {
	Label string // what it shows, for those who cannot see it
	W, H  float64
	Marks []mark
}

// mark is one element of a drawing. The template svg writes marks, so names in
// them are escaped; numbers are strings here to keep the page short.
type mark struct {
	Kind       string // path, rect, text or plot
	Class      string
	X, Y, W, H string
	D          string // of a path
	Text, Tip  string
	Marks      []mark // of a plot, which cuts off what lies outside of it
}

// mark kinds.
const (
	pathMark = "path"
	rectMark = "rect"
	textMark = "text"
	plotMark = "plot"
)

// xy prints a coordinate with one decimal at most.
func xy(v float64) string {
	text := strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	return text
}

func (d *drawing) text(class string, x, y float64, text string) {
	d.Marks = append(d.Marks, mark{Kind: textMark, Class: class, X: xy(x), Y: xy(y), Text: text})
}

func (d *drawing) path(class string, points ...string) {
	d.Marks = append(d.Marks, mark{Kind: pathMark, Class: class, D: strings.Join(points, "")})
}

func (d *drawing) rect(class string, x, y, w, h float64, tip string) {
	d.Marks = append(d.Marks, mark{Kind: rectMark, Class: class, X: xy(x), Y: xy(y), W: xy(w), H: xy(h), Tip: tip})
}

func (d *drawing) plot(x, y, w, h float64, marks []mark) {
	d.Marks = append(d.Marks, mark{Kind: plotMark, X: xy(x), Y: xy(y), W: xy(w), H: xy(h), Marks: marks})
}

// polyline joins points to the data of a path, or gives "" for none.
func polyline(points [][2]float64) string {
	var b strings.Builder
	for i, p := range points {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(xy(p[0]) + " " + xy(p[1]))
	}
	return b.String()
}

// scale maps values to a length in units of the drawing.
type scale struct{ lo, hi, length float64 }

func (s scale) at(v float64) float64 { return (v - s.lo) / (s.hi - s.lo) * s.length }

// ticks gives at most n round values within the scale, and how many decimals
// they need.
func (s scale) ticks(n int) (values []float64, decimals int) {
	step := roundStep((s.hi - s.lo) / float64(n))
	for i := math.Ceil(s.lo/step - 1e-9); i*step <= s.hi+1e-9*step && len(values) <= n+1; i++ {
		values = append(values, i*step)
	}
	return values, max(0, -int(math.Floor(math.Log10(step)+1e-9)))
}

// roundStep gives the smallest of 1, 2 and 5 times a power of ten that is at
// least raw.
func roundStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// theme is the colours of one background. The series colours were chosen to
// stay apart under the three kinds of colour blindness too; lines differ in
// their dashes besides.
type theme struct {
	paper, ink, muted, rule string
	card                    string // below what a page sets apart
	series                  [8]string
}

var (
	light = theme{
		paper: "#ffffff", ink: "#1b1f24", muted: "#59626d", rule: "#dfe3e8", card: "#f4f6f9",
		series: [8]string{"#0a67cf", "#bb3a05", "#02a287", "#953b7f", "#d47e0b", "#36a7fa", "#371841", "#67323a"},
	}
	dark = theme{
		paper: "#14171c", ink: "#e8ebef", muted: "#a2abb6", rule: "#343a43", card: "#1d2128",
		series: [8]string{"#558afa", "#ea6b1a", "#47e28b", "#d5abed", "#ffec3a", "#b3f6f5", "#a98eb6", "#b98a80"},
	}
	dashes = [8]string{"", "", "7 3", "2 2.5", "10 3 2 3", "4 2", "10 3 2 3 2 3", "14 4"}
)

// seriesClass gives the classes of the i-th series: its colour and its dashes.
// From the ninth on colours come again, with other dashes and paler bars.
func seriesClass(i int) string {
	class := fmt.Sprintf("c%d d%d", i%len(light.series), (i+3*(i/len(light.series)))%len(dashes))
	if i >= len(light.series) {
		class += " again"
	}
	return class
}

// css is the style sheet of drawings on this background.
func (t *theme) css() template.CSS {
	var b strings.Builder
	fmt.Fprintf(&b, "svg text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:%s}\n", t.ink)
	fmt.Fprintf(&b, "svg .mute{fill:%s}svg .small{font-size:12px}svg .head{font-size:14px;font-weight:600}svg .big{font-size:17px;font-weight:600}\n", t.muted)
	b.WriteString("svg .end{text-anchor:end}svg .mid{text-anchor:middle}\n")
	fmt.Fprintf(&b, "svg .grid{stroke:%s;fill:none}svg .axis{stroke:%s;fill:none}svg .diag{stroke:%s;stroke-dasharray:2 4;fill:none}\n", t.rule, t.muted, t.muted)
	b.WriteString("svg .line{fill:none;stroke-width:2;stroke-linejoin:round}svg .line.c0.d0{stroke-width:3}svg .line.lead{stroke-width:1.5;stroke-dasharray:none}svg .line.thin{stroke-width:1;opacity:.65}svg .band{opacity:.16;stroke:none}svg rect.again{opacity:.5}\n")
	fmt.Fprintf(&b, "svg .paper{fill:%s}svg .dot{stroke:%s}svg .zone{fill:%s}\n", t.paper, t.paper, t.card)
	for i, c := range t.series {
		fmt.Fprintf(&b, "svg .line.c%d{stroke:%s}svg .fill.c%d{fill:%s}\n", i, c, i, c)
	}
	for i, d := range dashes {
		if d != "" {
			fmt.Fprintf(&b, "svg .line.d%d:not(.lead){stroke-dasharray:%s}\n", i, d)
		}
	}
	return template.CSS(b.String())
}

// page is the style sheet of a page on this background.
func (t *theme) page() template.CSS {
	vars := fmt.Sprintf(":root{--paper:%s;--ink:%s;--muted:%s;--rule:%s;--card:%s}\n", t.paper, t.ink, t.muted, t.rule, t.card)
	return template.CSS(vars) + t.css()
}
