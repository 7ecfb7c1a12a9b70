package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/spectral"
)

// maxPrinted is the largest component whose matrices are printed in full.
const maxPrinted = 12

// numbers is a matrix as gonum has it.
type numbers interface {
	Dims() (rows, columns int)
	At(row, column int) float64
}

// ClassMath prints the chain of matrices from which the classes of a model came,
// for each component of the similarity graph in turn: in full up to 12 points,
// and only their sizes beyond. They are computed anew from the model's points;
// an error means that this did not succeed.
func ClassMath(w io.Writer, m *model.Model) error {
	found, err := spectral.Cluster(m.Spectral(), spectral.Settings{Sigma: m.Settings.Resolution, Classes: m.K})
	if err != nil {
		return fmt.Errorf("matrices of the classes: %w", err)
	}
	fmt.Fprintf(w, "%s in %d components of the similarity graph, sigma %v octaves, weights nodes^%v\n",
		points(len(m.Points)), len(found.Components), m.Settings.Resolution, m.Settings.WeightExponent)
	for i := range found.Components {
		if err := componentMath(w, m, i, &found.Components[i]); err != nil {
			return err
		}
	}
	return nil
}

func componentMath(w io.Writer, m *model.Model, number int, c *spectral.Component) error {
	n := len(c.Points)
	fmt.Fprintf(w, "\ncomponent %d, %s: %s, split in %d\n", number+1, groupText(&m.Groups[m.Points[c.Points[0]].Group]), points(n), c.Classes)
	embedding := spectral.Embed(c.Vectors, c.Classes)
	chain := []struct {
		name   string
		values numbers
	}{
		{"affinity W, w_i w_j exp(-|x_i - x_j|^2 / 2 sigma^2)", c.Affinity},
		{"degree D, the row sums of W", diagonal(c.Degree)},
		{"Laplacian L = I - D^(-1/2) W D^(-1/2)", c.Laplacian},
		{"eigenvalues of L", diagonal(c.Values)},
		{"embedding: the first eigenvectors, rows of length 1", embedding},
	}
	if n <= maxPrinted {
		if err := pointTable(w, m, c); err != nil {
			return err
		}
	}
	for _, link := range chain {
		rows, columns := link.values.Dims()
		fmt.Fprintf(w, "  %s: %d x %d\n", link.name, rows, columns)
		if n > maxPrinted {
			continue
		}
		if err := writeNumbers(w, link.values); err != nil {
			return err
		}
	}
	return nil
}

// pointTable says what each row of the matrices stands for.
func pointTable(w io.Writer, m *model.Model, c *spectral.Component) error {
	g := grid{indent: "    ", left: 1}
	g.add(append([]string{"class", "nodes"}, m.Settings.Features...)...)
	for _, i := range c.Points {
		p := &m.Points[i]
		row := []string{plain(m.Classes[p.Class].Name), strconv.Itoa(p.Nodes)}
		for _, x := range p.At {
			row = append(row, number(x, 2))
		}
		g.add(row...)
	}
	fmt.Fprintf(w, "  points x, in octaves: log2(1 + amount)\n")
	return g.write(w)
}

func writeNumbers(w io.Writer, values numbers) error {
	g := grid{indent: "    "}
	rows, columns := values.Dims()
	for i := range rows {
		row := make([]string, columns)
		for j := range row {
			row[j] = number(values.At(i, j), 4)
		}
		g.add(row...)
	}
	return g.write(w)
}

// diagonal is the diagonal of a matrix, shown as one row.
type diagonal []float64

func (d diagonal) Dims() (rows, columns int) { return 1, len(d) }
func (d diagonal) At(_, j int) float64       { return d[j] }

// groupText names a group of nodes by their devices.
func groupText(g *model.Group) string {
	switch {
	case g.Kind == "" && g.Model == "":
		return "no devices"
	case g.Model == "":
		return plain(g.Kind)
	}
	return plain(g.Kind) + " " + plain(g.Model)
}
