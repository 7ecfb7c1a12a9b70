package shadow

import (
	"fmt"
	"math"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Gate says what a shadow must have shown before its plugin is put in force.
type Gate struct {
	Agreement float64 // at least: part of the decisions with the same node and devices, 0 to 1
	Decisions int64   // at least: compared
	Faults    int64   // at most: decisions with a fault of the plugin; below 0 = any number
}

// Validate refuses bounds that no shadow could be measured by.
func (g Gate) Validate() error {
	refuse := func(detail string) error {
		return &poise.Error{Kind: poise.Invalid, Op: "gate", Detail: detail}
	}
	if math.IsNaN(g.Agreement) || g.Agreement < 0 || g.Agreement > 1 {
		return refuse(fmt.Sprintf("agreement: %v, expected 0 to 1", g.Agreement))
	}
	if g.Decisions < 0 {
		return refuse(fmt.Sprintf("decisions: %d, expected 0 or more", g.Decisions))
	}
	return nil
}

// Check refuses where the figures are not what the gate asks for, and says all
// that is missing. A figure that is the bound passes. The error is a Conflict.
func (g Gate) Check(t *Tally) error {
	var missing []string
	if t.Decisions < g.Decisions {
		missing = append(missing, fmt.Sprintf("decisions: %d compared, expected %d at least", t.Decisions, g.Decisions))
	}
	if t.Agreement() < g.Agreement {
		missing = append(missing, fmt.Sprintf("agreement: %.4g (%d of %d), expected %.4g at least", floor4(t.Agreement()), t.Agreed, t.Decisions, g.Agreement))
	}
	if g.Faults >= 0 && t.Faulted > g.Faults {
		missing = append(missing, fmt.Sprintf("faults: in %d decisions, expected %d at most", t.Faulted, g.Faults))
	}
	if len(missing) == 0 {
		return nil
	}
	return &poise.Error{Kind: poise.Conflict, Op: "gate", Detail: strings.Join(missing, "; ") +
		fmt.Sprintf(" (compared %d, agreed %d, faults in %d, dropped %d)", t.Decisions, t.Agreed, t.Faulted, t.Dropped)}
}

// floor4 cuts a part to four digits, so that one below a bound is not printed as
// the bound.
func floor4(x float64) float64 { return math.Floor(x*1e4) / 1e4 }
