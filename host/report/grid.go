package report

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// grid is text in columns, two spaces apart. text/tabwriter aligns all columns
// to one side; here names stand left and numbers right.
type grid struct {
	indent string
	left   int // so many columns stand left, the others right
	rows   [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// write prints the rows without trailing spaces. A row without cells is an
// empty line.
func (g *grid) write(w io.Writer) error {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range g.rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < g.left {
				cell += pad
			} else {
				cell = pad + cell
			}
			line.WriteString(cell)
		}
		if line.Len() > 0 {
			b.WriteString(strings.TrimRight(g.indent+line.String(), " "))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plain gives a name as it may stand in a terminal, a table or XML: as it is if
// all of it can be printed, else quoted.
func plain(name string) string {
	if name == "" {
		return "-"
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// plainAll gives the names joined by sep.
func plainAll(names []string, sep string) string {
	shown := slices.Clone(names)
	for i := range shown {
		shown[i] = plain(shown[i])
	}
	return strings.Join(shown, sep)
}
