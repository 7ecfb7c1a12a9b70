package report

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/poise-sched/poise/host/model"
)

//go:embed classes.gohtml
var classesText string

var classPages = template.Must(template.Must(pages.Clone()).Parse(classesText))

// classPage is what the template shows.
type classPage struct {
	Title, Sub  string
	Light, Dark template.CSS
	Table       sheet
	Scale       drawing
	Islands     []drawing
	Beyond      string    // of what the islands leave out; may be empty
	Spectrum    []drawing // one, or none without classes
}

// maxIslands bounds the pictures of a page; the makes with the most nodes have
// one.
const maxIslands = 40

// ClassHTML writes a page by which a person can judge the classes of a model: a
// table, a map of the nodes coloured by class, and the spectrum with the gap
// that made the number of classes. It needs nothing else, like that of HTML.
func ClassHTML(w io.Writer, m *model.Model, title string) error {
	classes := classesOf(m)
	colours := classColours(m, classes)
	p := classPage{
		Title: plain(title), Light: light.page(), Dark: dark.page(), Table: sheet{Head: classHeads},
		Sub: fmt.Sprintf("%s in %d classes: %s compared by %s; resolution %v octaves, weight exponent %v",
			nodes(fleetSize(m)), len(classes), points(len(m.Points)), plainAll(m.Settings.Features, ", "), m.Settings.Resolution, m.Settings.WeightExponent),
	}
	for _, c := range classes {
		row := sheetRow{Class: colours[c.index]}
		for _, text := range c.cells() {
			row.Cells = append(row.Cells, cell{Text: text})
		}
		p.Table.Rows = append(p.Table.Rows, row)
	}
	islands := islandsOf(m)
	if len(islands) > maxIslands {
		p.Beyond = fmt.Sprintf("%d makes of device with fewer nodes are not shown.", len(islands)-maxIslands)
		islands = islands[:maxIslands]
	}
	s := scaleOf(islands)
	for i := range islands {
		p.Islands = append(p.Islands, islands[i].draw(m, colours, s))
	}
	p.Scale = scaleBar(m, s)
	if m.K > 0 {
		p.Spectrum = []drawing{spectrum(m)}
	}
	return classPages.ExecuteTemplate(w, "classes", &p)
}

// classColours gives each class, by its place in the model, the mark class of
// its colour. Colours come again after the last one; classes of one picture have
// different ones while there are enough.
func classColours(m *model.Model, classes []*classView) []string {
	colours := make([]string, len(m.Classes))
	used := map[int]int{} // bits of the colours in use, by group
	for i, c := range classes {
		n := i % len(light.series)
		for tried := 1; used[c.group]&(1<<n) != 0 && tried < len(light.series); tried++ {
			n = (n + 1) % len(light.series)
		}
		used[c.group] |= 1 << n
		colours[c.index] = fmt.Sprintf("c%d", n)
	}
	return colours
}

// Measures of the spectrum in units of its drawing.
const (
	spectrumHeight = 300.0
	spectrumPlace  = 24.0 // between two eigenvalues, while they are few
	spectrumWidth  = 720.0
)

// spectrum draws the eigenvalues as dots, with the gap shaded.
func spectrum(m *model.Model) drawing {
	values := m.Eigenvalues
	count := float64(max(len(values), m.K+1))
	width := min(spectrumWidth, max(220, count*spectrumPlace)) + marginLeft + marginRight
	d := drawing{Label: fmt.Sprintf("eigenvalues in ascending order, with the gap after number %d", m.K), W: width, H: spectrumHeight}
	top := gapOf(m) + values[m.K-1]
	for _, v := range values {
		top = max(top, v)
	}
	x := scale{0.5, count + 0.5, width - marginLeft - marginRight}
	y := scale{1.05 * top, -0.03 * top, spectrumHeight - marginTop - marginBottom}
	at := func(i, v float64) (float64, float64) { return marginLeft + x.at(i), marginTop + y.at(v) }

	d.text("head", 4, 16, fmt.Sprintf("k = %d: a gap of %s between eigenvalue %d and the next", m.K, number(gapOf(m), 3), m.K))
	k := float64(m.K)
	left, upper := at(k, values[m.K-1]+gapOf(m))
	right, lower := at(k+1, values[m.K-1])
	whole := marginLeft + x.length
	d.rect("fill c0 band", marginLeft, upper, x.length, lower-upper, "the gap")
	marks, decimals := scale{0, top, y.length}.ticks(5)
	for _, v := range marks {
		_, h := at(0.5, v)
		d.path("grid", "M", xy(marginLeft), " ", xy(h), "H", xy(whole))
		d.text("mute small end", marginLeft-6, h+4, number(v, decimals))
	}
	for step, i := max(1, int(count/24)), 1; i <= int(count); i += step {
		h, _ := at(float64(i), 0)
		d.text("mute small mid", h, spectrumHeight-marginBottom+16, strconv.Itoa(i))
	}
	d.text("mute small mid", marginLeft+x.length/2, spectrumHeight-6, "number of the eigenvalue")
	d.path("axis", "M", xy((left+right)/2), " ", xy(upper), "V", xy(lower))
	d.text("", (left+right)/2+6, (upper+lower)/2+4, "gap "+number(gapOf(m), 3))
	for i, v := range values {
		px, py := at(float64(i+1), v)
		colour := "fill c0 dot"
		if i >= m.K {
			colour = "fill c1 dot"
		}
		d.circle(colour, px, py, 4.5, fmt.Sprintf("eigenvalue %d: %s", i+1, number(v, 6)))
	}
	return d
}

func (d *drawing) circle(class string, x, y, r float64, tip string) {
	d.Marks = append(d.Marks, mark{Kind: pathMark, Class: class, Tip: tip, D: circlePath(x, y, r)})
}

func circlePath(x, y, r float64) string {
	return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0z", xy(x-r), xy(y), xy(r), xy(r), xy(2*r), xy(r), xy(r), xy(2*r))
}
