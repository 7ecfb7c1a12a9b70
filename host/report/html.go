package report

import (
	"cmp"
	_ "embed" // the page and the drawings
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/sim"
)

//go:embed page.gohtml
var pageText string

var pages = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	Title       string
	Light, Dark template.CSS
	Sections    []pageSection
	Runs        sheet
}

type pageSection struct {
	ID        string
	Name, Sub string
	Leads     []lead
	Legend    []legendItem
	Charts    []drawing
	Figures   sheet
	Bars      []drawing
	Classes   sheet
	Tenants   sheet
	Sizes     sheet
	Happened  sheet
	Reasons   sheet
	Waiting   sheet
}

// lead is the policy that is best by a figure, and the next.
type lead struct{ What, Policy, Value, Next string }

type legendItem struct{ Name, Class string }

// sheet is a table of a page. The first column holds names.
type sheet struct {
	Head []string
	Rows []sheetRow
	More string // below the table; may be empty
}

type sheetRow struct {
	Class string // of the swatch before the name; empty for none
	Cells []cell
}

type cell struct {
	Text, Note string
	Best       bool
}

// HTML writes a page that shows the results and needs nothing else: curves of
// allocation with their range over the seeds, figures, how full each class of
// nodes was, and for a replay waits and what still waits. It can be opened from
// a file, in light and dark, on a phone and on paper.
func HTML(w io.Writer, results []*sim.Result, title string) error {
	results = variants(results)
	p := page{Title: plain(title), Light: light.page(), Dark: dark.page(), Runs: sheet{Head: []string{"workload", "policy", "mode", "seed", "digest"}}}
	for _, r := range results {
		p.Runs.Rows = append(p.Runs.Rows, sheetRow{Cells: []cell{
			{Text: plain(r.Workload)}, {Text: plain(r.Policy)}, {Text: plain(string(r.Mode))}, {Text: strconv.FormatInt(r.Seed, 10)}, {Text: plain(r.Digest)},
		}})
	}
	for i, s := range sections(results) {
		p.Sections = append(p.Sections, s.page(i))
	}
	return pages.ExecuteTemplate(w, "page", &p)
}

func (s *section) page(i int) pageSection {
	measures := measuresOf(s.mode, s.runs())
	p := pageSection{
		ID: "s" + strconv.Itoa(i+1), Name: plain(s.workload),
		Sub: fmt.Sprintf("mode %s, %s", plain(string(s.mode)), nodes(s.nodes)), Leads: s.leads(measures),
		Charts: s.charts(), Figures: s.figures(measures), Bars: s.classBars(), Classes: s.classSheet(),
		Tenants: s.sheet("tenant", s.faredBy(tenantsOf), true), Sizes: s.sheet("size", s.faredBy(sizesOf), false), Happened: s.happened(), Reasons: s.reasons(), Waiting: s.waiting(),
	}
	if n := s.seeds(); n > 1 {
		p.Sub += fmt.Sprintf(", mean of %d seeds, shaded from the lowest to the highest", n)
	}
	for i, f := range s.families {
		p.Legend = append(p.Legend, legendItem{plain(f.policy), seriesClass(i)})
	}
	return p
}

// leading are the measures whose best policy a page names first: what it says
// of the best of several, of the only one, and their unit.
var leading = map[string][3]string{
	"alloc_percent_at_100": {"most allocated when 100 % has arrived", "allocated when 100 % has arrived", " %"},
	"alloc_percent_at_end": {"most allocated in the end", "allocated in the end", " %"},
	"mean_wait_seconds":    {"shortest mean wait", "mean wait", " s"},
	"alloc_percent":        {"most allocated over time", "allocated over time", " %"},
}

func (s *section) leads(measures []measure) []lead {
	var all []lead
	for i := range measures {
		words, leads := leading[measures[i].key]
		l, ok := s.lead(&measures[i], words[2])
		if !ok || !leads {
			continue
		}
		l.What = words[0]
		if l.Next == "" {
			l.What = words[1]
		}
		all = append(all, l)
	}
	return all
}

// lead ranks the policies by the mean of a measure. Where none has the figure
// there is no lead.
func (s *section) lead(m *measure, unit string) (lead, bool) {
	ranked := slices.DeleteFunc(slices.Clone(s.families), func(f *family) bool { return math.IsNaN(f.stat(m).mean) })
	if len(ranked) == 0 {
		return lead{}, false
	}
	slices.SortStableFunc(ranked, func(a, b *family) int { return m.better * cmp.Compare(b.stat(m).mean, a.stat(m).mean) })
	value := func(f *family) string { return m.text(f.stat(m).mean) + unit }
	l := lead{Policy: plain(ranked[0].policy), Value: value(ranked[0])}
	if len(ranked) > 1 {
		l.Next = plain(ranked[1].policy) + ": " + value(ranked[1])
	}
	return l, true
}

// figures is the table of means, with the range where there are several seeds.
func (s *section) figures(measures []measure) sheet {
	t := sheet{Head: heads(measures, "policy", "seeds")}
	best := make([]float64, len(measures)) // NaN where no policy stands out
	for i := range measures {
		m := &measures[i]
		var values []float64
		for _, f := range s.families {
			values = append(values, f.stat(m).mean*float64(m.better))
		}
		best[i] = math.NaN()
		if over := statOf(values); over.lo != over.hi {
			best[i] = over.hi
		}
	}
	for k, f := range s.families {
		row := sheetRow{Class: seriesClass(k), Cells: []cell{{Text: plain(f.policy)}, {Text: strconv.Itoa(len(f.runs))}}}
		for i := range measures {
			m := &measures[i]
			v := f.stat(m)
			c := cell{Text: m.text(v.mean), Best: m.better != 0 && v.mean*float64(m.better) == best[i]}
			if m.better != 0 && m.text(v.lo) != m.text(v.hi) {
				c.Note = m.text(v.lo) + " to " + m.text(v.hi)
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// classSheet gives the figures of the class bars.
func (s *section) classSheet() sheet {
	t := sheet{Head: []string{"class", "nodes", "policy", "cpu %", "memory %", "devices %"}}
	for _, u := range s.classes() {
		for i, f := range s.families {
			use := u.use[i]
			t.Rows = append(t.Rows, sheetRow{Cells: []cell{
				{Text: u.name},
				{Text: strconv.Itoa(u.nodes)},
				{Text: plain(f.policy)},
				{Text: number(use[0], 1)},
				{Text: number(use[1], 1)},
				{Text: number(use[2], 1)},
			}})
		}
	}
	return t
}
