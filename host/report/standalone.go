package report

import (
	"fmt"
	"html/template"
	"io"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/sim"
)

// Measures of the picture that CurvesSVG draws.
const (
	pictureMargin = 16.0
	headHeight    = 30.0
	legendHeight  = 20.0
	letterWidth   = 6.9 // of the font, on the wide side
	swatchWidth   = 24.0
)

// CurvesSVG writes the curves of HTML as a picture by itself, on a light ground
// with fixed colours, for documents that show pictures and no pages. One row is
// one workload.
func CurvesSVG(w io.Writer, results []*sim.Result) error {
	width := 2*chartWidth + 3*pictureMargin
	d := drawing{Label: "allocation curves", W: width}
	y := pictureMargin
	for _, s := range sections(results) {
		charts := s.charts()
		if len(charts) == 0 {
			continue
		}
		d.text("big", pictureMargin, y+16, fmt.Sprintf("%s, %s", plain(s.workload), nodes(s.nodes)))
		if n := s.seeds(); n > 1 {
			d.text("mute small end", width-pictureMargin, y+16, fmt.Sprintf("mean of %d seeds, shaded from the lowest to the highest", n))
		}
		y = d.legend(s, y+headHeight)
		height := 0.0
		for i := range charts {
			x := pictureMargin + float64(i)*(chartWidth+pictureMargin)
			d.plot(x, y, charts[i].W, charts[i].H, charts[i].Marks)
			height = max(height, charts[i].H)
		}
		y += height + pictureMargin
	}
	d.H = y
	ground := mark{Kind: rectMark, Class: "paper", X: "0", Y: "0", W: xy(d.W), H: xy(d.H)}
	d.Marks = append([]mark{ground}, d.Marks...)
	return pages.ExecuteTemplate(w, "standalone", struct {
		*drawing
		Style template.CSS
	}{&d, light.css()})
}

// legend writes the policies' names behind a piece of their line, in as many
// rows as they need, and gives the place below.
func (d *drawing) legend(s *section, y float64) float64 {
	x := pictureMargin
	for i, f := range s.families {
		name := plain(f.policy)
		need := swatchWidth + 6 + letterWidth*float64(utf8.RuneCountInString(name)) + 12
		if x+need > d.W-pictureMargin && x > pictureMargin {
			x, y = pictureMargin, y+legendHeight
		}
		d.path("line "+seriesClass(i), "M", xy(x), " ", xy(y+6), "h", xy(swatchWidth))
		d.text("", x+swatchWidth+6, y+10, name)
		x += need
	}
	return y + legendHeight + 4
}
