package report

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Losses are ranked by their first nine decimals. Terms are shown with more
// where their sum would else round to another loss.
const (
	lossDigits = 9
	maxDigits  = 15
)

// formulaTexts say in a sentence what the columns of a formula are.
var formulaTexts = map[string]string{
	"spread": "by spread, the columns are the resources; b is 1 where all of them are used alike",
	"demand": "by demand, the first column is what the expected jobs could use of the node's idle\n" +
		"  devices, and room is what the fleet has left for each kind of expected job",
}

// writeMatrices shows how the losses of the best two came about.
func writeMatrices(b *strings.Builder, d *poise.Decision) {
	shown := d.Ranked[:min(2, len(d.Ranked))]
	var formulas []string
	for i := range shown {
		if f := shown[i].Formula; len(shown[i].Columns) > 0 && !slices.Contains(formulas, f) {
			formulas = append(formulas, f)
		}
	}
	if len(formulas) > 0 {
		b.WriteString("\nhow a loss comes about: w weighs what is idle, b is the balance without the job and b' with it;\n" +
			"  M1 = w*b, M2 = w*b', term = factor*(M1-M2), and the loss is the sum of the terms\n")
	}
	for _, f := range formulas {
		if text := formulaTexts[f]; text != "" {
			fmt.Fprintf(b, "  %s\n", text)
		}
	}
	for i := range shown {
		r := &shown[i]
		if len(r.Columns) == 0 && len(r.Seen) > 0 {
			continue // the losses stand with the ranked nodes, and the plugin knows the rest
		}
		if len(r.Columns) == 0 {
			fmt.Fprintf(b, "\nloss of %s by %s: %s, without columns to show\n", plain(r.Node), plain(r.Formula), fixed(r.Loss, lossDigits))
			continue
		}
		fmt.Fprintf(b, "\nloss of %s by %s\n", plain(r.Node), plain(r.Formula))
		writeColumns(b, r)
	}
}

// writeColumns prints one line a column of the matrices, and the sum.
func writeColumns(b *strings.Builder, r *poise.Ranked) {
	digits := termDigits(r)
	g := grid{indent: "  ", left: 1}
	g.add("column", "factor", "w", "b", "b'", "M1", "M2", "term")
	for i := range r.Columns {
		c := &r.Columns[i]
		g.add(
			plain(c.Name), trimmed(c.Factor), fixed(c.Weight, lossDigits), fixed(c.Before, lossDigits), fixed(c.After, lossDigits),
			fixed(c.M1, lossDigits), fixed(c.M2, lossDigits), fixed(term(c), digits),
		)
	}
	sum := sumOf(r, digits).FloatString(digits)
	loss := fixed(r.Loss, lossDigits)
	if digits == lossDigits && sum == loss {
		g.add("loss", "", "", "", "", "", "", loss)
	} else {
		g.add("sum", "", "", "", "", "", "", sum)
		g.add("loss", "", "", "", "", "", "", loss)
	}
	_ = g.write(b)
}

// term is what a column adds to the loss.
func term(c *poise.Column) float64 { return c.Factor * (c.M1 - c.M2) }

// termDigits gives the fewest decimals, nine or more, with which the terms as
// shown add up to the loss.
func termDigits(r *poise.Ranked) int {
	loss := fixed(r.Loss, lossDigits)
	for digits := lossDigits; digits <= maxDigits; digits++ {
		if unsigned(sumOf(r, digits).FloatString(lossDigits)) == loss {
			return digits
		}
	}
	return lossDigits
}

// sumOf adds the terms as they are shown with so many decimals.
func sumOf(r *poise.Ranked, digits int) *big.Rat {
	sum := new(big.Rat)
	for i := range r.Columns {
		if t, ok := new(big.Rat).SetString(fixed(term(&r.Columns[i]), digits)); ok {
			sum.Add(sum, t)
		}
	}
	return sum
}

// fixed prints x with so many decimals.
func fixed(x float64, digits int) string { return number(x, digits) }

// trimmed prints x with at most nine decimals and without trailing zeros.
func trimmed(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return number(x, 0)
	}
	text := fixed(x, lossDigits)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// unsigned takes the minus from a zero.
func unsigned(text string) string {
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}
