package baseline

import (
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

const fgdName = "fgd"

// rules are the baselines by name, in the order in which they are listed. The
// one without a rule is made from a workload.
var rules = [...]struct {
	name string
	rule rule
}{
	{"random", random},
	{"best-fit", bestFit},
	{"dot-product", dotProduct},
	{"gpu-packing", gpuPacking},
	{"gpu-clustering", gpuClustering},
	{"most-allocated", mostAllocated},
	{"least-allocated", leastAllocated},
	{"balanced", balanced},
	{fgdName, nil},
}

// Names lists the baselines, always in the same order.
func Names() []string {
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].name
	}
	return names
}

// New makes the policy of a baseline. Equal losses go to the smaller node name,
// except under random, where they go by the hash of the seed, to which the
// caller adds the run's own; who repeats the published experiment sets the rule Published and its
// order. The workload is what fgd takes its typical tasks from, see TypicalTasks,
// so fgd needs at least one request; the others do not look at it. A name that is not in Names
// is an error of kind NotFound, an empty workload for fgd one of kind Invalid.
func New(name string, workload []poise.Request) (sched.Policy, error) {
	p := sched.Policy{Name: name}
	for i := range rules {
		if rules[i].name != name {
			continue
		}
		switch {
		case name == fgdName && len(workload) == 0:
			return sched.Policy{}, &poise.Error{Kind: poise.Invalid, Op: "baseline fgd", Detail: "workload: no requests, expected at least one: fgd takes its typical tasks from there"}
		case name == fgdName:
			p.Scorer = newFGD(TypicalTasks(workload))
		default:
			p.Scorer = rules[i].rule
		}
		if name == "random" {
			p.Ties, p.SeededDevices, p.Seed = sched.Seeded, true, randomStream
		}
		return p, nil
	}
	return sched.Policy{}, &poise.Error{
		Kind: poise.NotFound, Op: fmt.Sprintf("baseline %q", name),
		Detail: "no baseline of that name, expected one of " + strings.Join(Names(), ", "),
	}
}
