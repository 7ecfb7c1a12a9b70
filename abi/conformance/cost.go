package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/state"
)

// growthRows is how many rows a call of noGrowth is about: what grows does so
// with calls.
const growthRows = 16

// noGrowth makes call after call in one instance that is not set back. Memory
// stays as large as it was, and after the first hundredth of the calls the state
// of the guest is at the end of each round what it was at the end of the one
// before.
func (k *kit) noGrowth() (Outcome, string, error) {
	p, err := k.probe(k.module)
	if err != nil {
		return Fail, "", err
	}
	defer p.Close()
	var round []question
	if err := k.everyQuestion(k.usual, growthRows, func(q question) error {
		round = append(round, q)
		return nil
	}); err != nil {
		return Fail, "", err
	}
	most := 10_000
	if k.options.Soak {
		most = 1_000_000
	}
	memory, calls := 0, 0
	var settled []byte
	for calls < most {
		for _, q := range round {
			if _, err := q.put(p, growthRows); err != nil {
				var f *policy.Fault
				if errors.As(err, &f) {
					err = violates("call %d: %s", calls+1, faultText(f))
				}
				return Fail, "", err
			}
			calls++
		}
		switch {
		case settled != nil:
		case memory == 0:
			memory = p.Memory()
		case calls*100 >= most:
			settled = p.State()
		}
	}
	if now := p.Memory(); now != memory {
		return Fail, "", violates("memory: %d KiB after %d calls, expected %d as after the first", now>>10, calls, memory>>10)
	}
	text := fmt.Sprintf("%s calls, %d KiB", short(calls), memory>>10)
	switch changed := differing(settled, p.State()); {
	case changed == 0:
		return Pass, text + ", state unchanged", nil
	case k.module.Info.ImportsWASI:
		return Pass, fmt.Sprintf("%s, %d bytes of the language's runtime changed", text, changed), nil
	default:
		return Fail, "", violates("state: %d bytes outside the host's blocks differ after %d calls, expected none: something counts, grows or is not given back", changed, calls)
	}
}

// differing counts the bytes that are not the same.
func differing(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// fuelNodes are the sizes of fleets that the budget is checked at.
var fuelNodes = []int{100, 1_000, 10_000, 50_000}

// mostNodes bounds the made-up fleets.
const mostNodes = 100_000

// sizes are those of the fleets that the budget is checked at, for a fleet of so
// many nodes.
func sizes(fleet int) []int {
	all := slices.Clone(fuelNodes)
	for _, n := range []int{fleet, 10 * fleet} {
		if n > 0 && n <= mostNodes && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// fuel runs whole passes as the host does, under its limits on a call and a job,
// and compares what they used with the budget of a job.
func (k *kit) fuel(nodes int) (Outcome, string, error) {
	f, err := k.fleet(variant{nodes: nodes, shapes: 64, values: "v"})
	if err != nil {
		return Fail, "", err
	}
	g, err := policy.NewGuest(k.module, k.options.Params)
	if err != nil {
		return Fail, "", err
	}
	defer g.Close()
	worst, text := -1.0, ""
	for _, name := range []string{"small", "share"} {
		job := f.state.Job(poise.JobID(name))
		rows, err := candidates(f, job)
		if err != nil {
			return Fail, "", err
		}
		use, budget, err := k.pass(g, &state.Batch{Snap: f.snap, Job: job, Rows: rows})
		if err != nil {
			return Fail, "", err
		}
		part := float64(use.Fuel) / float64(budget)
		if part <= worst {
			continue
		}
		worst = part
		text = fmt.Sprintf("%s of %s units, %.1f %% of the budget, %d a row, calls: %d",
			short(int(use.Fuel)), short(int(budget)), 100*part, use.Fuel/int64(max(use.Rows, 1)), use.Calls)
	}
	switch {
	case worst > 1:
		return Fail, "", violates("%s", text)
	case worst > 0.5:
		return Warn, text, nil
	}
	return Pass, text, nil
}

// pass asks about all rows of the batch and gives what that used and what the
// budget had for it.
func (k *kit) pass(g *policy.Guest, b *state.Batch) (poise.PluginUse, int64, error) {
	g.Prepare(b.Snap, b.Job)
	rows := 0
	for _, export := range k.exports {
		var err error
		if export == abi.Filter {
			err = g.Filter(b, make([]poise.Reason, len(b.Rows)))
		} else {
			err = g.Score(b, make([]float64, len(b.Rows)), make([]uint32, len(b.Rows)))
		}
		if err != nil {
			return poise.PluginUse{}, 0, err
		}
		rows += len(b.Rows)
	}
	return g.Use(), g.Budget(rows), nil
}

// short writes a count in as few digits as say what it is.
func short(n int) string {
	switch {
	case n >= 10_000_000:
		return strconv.Itoa((n+500_000)/1_000_000) + "M"
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000 || n >= 1000 && n%1000 == 0:
		return strconv.Itoa((n+500)/1000) + "k"
	}
	return strconv.Itoa(n)
}
