package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/manifest"
)

// nearLoss is how near a loss is to the one expected.
const nearLoss = 1e-9

// differences gives a line for each expectation that was not met. detail tells
// more about a fault.
func differences(want *manifest.Expect, got *manifest.Outcome, detail string) []string {
	var all []string
	differ := func(key, got, want string) {
		all = append(all, fmt.Sprintf("%s: %s, expected %s", key, got, want))
	}
	if want.Empty() {
		differ("expect", "nothing in it", "a node, devices, an order, refused nodes, losses or a fault; --update writes what happened")
	}
	if got.Fault != want.Fault {
		differ("fault", cmp.Or(string(got.Fault), "none"), cmp.Or(string(want.Fault), "none"))
		if got.Fault == abi.CodeConfigure {
			return []string{all[len(all)-1] + ": " + detail} // nothing was decided, so nothing else can differ
		}
		if detail != "" {
			all = append(all, "  "+detail)
		}
	}
	if want.Node != nil && *want.Node != got.Node {
		differ("node", cmp.Or(got.Node, "none"), cmp.Or(*want.Node, "none"))
	}
	if want.Devices != nil && !slices.Equal(want.Devices, got.Devices) {
		differ("devices", fmt.Sprint(got.Devices), fmt.Sprint(want.Devices))
	}
	if want.Order != nil && !slices.Equal(want.Order, got.Order) {
		differ("order", fmt.Sprint(got.Order), fmt.Sprint(want.Order))
	}
	for _, node := range slices.Sorted(maps.Keys(want.Refused)) {
		text, refused := got.Refused[node]
		if text != want.Refused[node] {
			shown := "not refused"
			if refused {
				shown = fmt.Sprintf("%q", text)
			}
			differ("refused."+node, shown, fmt.Sprintf("%q", want.Refused[node]))
		}
	}
	for _, node := range slices.Sorted(maps.Keys(want.Losses)) {
		loss, ranked := got.Losses[node]
		switch {
		case !ranked:
			differ("losses."+node, "no candidate", fmt.Sprint(want.Losses[node]))
		case !(math.Abs(loss-want.Losses[node]) <= nearLoss):
			differ("losses."+node, fmt.Sprint(loss), fmt.Sprint(want.Losses[node]))
		}
	}
	return all
}
