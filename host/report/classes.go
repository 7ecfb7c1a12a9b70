package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/model"
)

// aroundGap is how many eigenvalues a table shows on either side of the gap.
const aroundGap = 4

// classHeads are the columns that describe a class.
var classHeads = []string{"class", "nodes", "share %", "cores", "memory GiB", "devices", "GiB/core", "what sets it apart"}

// ClassTable prints the classes of a model, the largest first, with their
// envelopes and what sets them apart, and below them the eigenvalues around the
// gap that made their number.
func ClassTable(w io.Writer, m *model.Model) error {
	g := grid{left: 1}
	g.add(classHeads...)
	for _, c := range classesOf(m) {
		g.add(c.cells()...)
	}
	g.leftLast()
	g.add()
	g.add(fmt.Sprintf("k = %d, from %s of %s", m.K, points(len(m.Points)), nodes(fleetSize(m))))
	if err := g.write(w); err != nil || len(m.Eigenvalues) == 0 {
		return err
	}
	return spectrumTable(w, m)
}

// leftLast makes the last column stand left: what is as long as the longest
// stands on both sides, and write cuts the spaces off again.
func (g *grid) leftLast() {
	longest := 0
	for _, row := range g.rows {
		longest = max(longest, utf8.RuneCountInString(row[len(row)-1]))
	}
	for _, row := range g.rows {
		last := &row[len(row)-1]
		*last += strings.Repeat(" ", longest-utf8.RuneCountInString(*last))
	}
}

// spectrumTable prints the eigenvalues nearest to the gap.
func spectrumTable(w io.Writer, m *model.Model) error {
	g := grid{indent: "  "}
	g.add("number", "eigenvalue")
	for i := max(0, m.K-aroundGap); i < min(len(m.Eigenvalues), m.K+aroundGap); i++ {
		g.add(strconv.Itoa(i+1), number(m.Eigenvalues[i], 6))
		if i+1 == m.K {
			g.add("gap", number(gapOf(m), 6), "<- so k = "+strconv.Itoa(m.K))
		}
	}
	return g.write(w)
}

// gapOf gives the gap behind the first K eigenvalues. After the last of all
// stands a 1, as for spectral.Eigengap.
func gapOf(m *model.Model) float64 {
	next := 1.0
	if m.K < len(m.Eigenvalues) {
		next = m.Eigenvalues[m.K]
	}
	return next - m.Eigenvalues[m.K-1]
}

func points(n int) string {
	if n == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%d points", n)
}

func fleetSize(m *model.Model) int {
	n := 0
	for i := range m.Classes {
		n += m.Classes[i].Nodes
	}
	return n
}

// cells describes a class by the columns of classHeads.
func (c *classView) cells() []string {
	cpu, memory := c.rangeOf("cpu"), c.rangeOf("memory")
	return []string{
		plain(c.Name), strconv.Itoa(c.Nodes), number(100*c.share, 1),
		span(float64(cpu.Lo)/milli, float64(cpu.Hi)/milli), span(float64(memory.Lo)/gib, float64(memory.Hi)/gib),
		c.devicesText(), short(c.Ratio), c.apart,
	}
}

// Base units in a core and a GiB.
const (
	milli = 1000.0
	gib   = 1 << 30
)

// short prints a number with three digits, or all before the point.
func short(v float64) string {
	decimals := 0
	if v != math.Trunc(v) {
		decimals = max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	text := number(v, min(decimals, 3))
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// span prints a range, and only one end where both read alike.
func span(lo, hi float64) string {
	from, to := short(lo), short(hi)
	if from == to {
		return to
	}
	return from + "-" + to
}

// devicesText gives the devices of a class, such as "2-4 gpu T4".
func (c *classView) devicesText() string {
	var all []string
	for i := range c.Devices {
		d := &c.Devices[i]
		text := span(float64(d.Lo), float64(d.Hi)) + " " + plain(d.Kind)
		if d.Model != "" {
			text += " " + plain(d.Model)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}
