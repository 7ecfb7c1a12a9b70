package sched

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// gangUse is what plugins used for a gang so far and no decision about a member
// says: a pass says what it used itself, so what was tried in vain, and in which
// domain, is added here.
type gangUse []poise.PluginUse

// add adds what a pass used; passes of one pipeline have the same plugins in one
// order.
func (u *gangUse) add(pass []poise.PluginUse) {
	if len(*u) == 0 {
		*u = slices.Clone(pass)
		return
	}
	for i := range pass {
		sum := &(*u)[i]
		sum.Calls += pass[i].Calls
		sum.Rows += pass[i].Rows
		sum.Fuel += pass[i].Fuel
	}
}
