package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Figure is one measured value, with the goal that it was measured for. Every
// benchmark of the project prints its results as figures.
type Figure struct {
	Name  string // what was measured, and with what
	Value float64
	Unit  string // "us", "B/row", "x"; empty for a plain number
	Goal  Goal   // the zero Goal: none was set
}

// Goal is a bound on a Figure's value. The bound itself still holds.
type Goal struct {
	sign  string // "<=", ">=" or "" for no goal
	bound float64
}

// AtMost is the goal of a value no larger than bound.
func AtMost(bound float64) Goal { return Goal{"<=", bound} }

// AtLeast is the goal of a value no smaller than bound.
func AtLeast(bound float64) Goal { return Goal{">=", bound} }

// String gives the goal as it stands in a figure's line, "-" for none.
func (g Goal) String() string {
	if g.sign == "" {
		return "-"
	}
	return g.sign + " " + strconv.FormatFloat(g.bound, 'f', -1, 64)
}

// holds says whether v reaches the goal. NaN reaches none.
func (g Goal) holds(v float64) bool {
	if g.sign == ">=" {
		return v >= g.bound
	}
	return v <= g.bound
}

// String gives the figure's line without a line end: name, value, unit, goal
// and "holds" or "falls short", each at least two spaces from the next. An
// empty name or unit shows as "-"; without a goal the line ends at its "-".
func (f Figure) String() string {
	line := fmt.Sprintf("%-56s  %12s  %-12s  ", word(f.Name), f.number(), word(f.Unit))
	if f.Goal.sign == "" {
		return line + "-"
	}
	verdict := "falls short"
	if f.Goal.holds(f.Value) {
		verdict = "holds"
	}
	return line + fmt.Sprintf("%-10s  %s", f.Goal, verdict)
}

// number gives the value with four significant digits and all digits before
// the point, or in full where rounding would contradict the verdict.
func (f Figure) number() string {
	decimals := 0
	if a := math.Abs(f.Value); a > 0 && a < 1000 {
		decimals = min(3-int(math.Floor(math.Log10(a))), 9)
	}
	short := strconv.FormatFloat(f.Value, 'f', decimals, 64)
	if shown, err := strconv.ParseFloat(short, 64); err != nil || f.Goal.holds(shown) != f.Goal.holds(f.Value) {
		return strconv.FormatFloat(f.Value, 'f', -1, 64)
	}
	return short
}

// word makes s fit a column: single spaces only, so that two end it.
func word(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "-"
	}
	return s
}
