package baseline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Typical is one kind of task that a workload is made of.
type Typical struct {
	CPU    int64    // milli-cores
	Count  int32    // devices, 0 = none
	Milli  int32    // milli-devices on each, 0 where Count is 0
	Models []string // allowed models, as the first such request has them; empty = any
	Times  int      // how often it comes in the workload
	Share  float64  // Times as a part of all typical tasks; the shares of a list sum to 1
}

// typicalPercent is how much of a workload its typical tasks must cover.
const typicalPercent = 95

// TypicalTasks gives the most frequent kinds of task of a workload, enough to
// cover 95 % of it, as in Weng et al. (USENIX ATC 2023): the distinct (cpu,
// milli, count, models), memory left out, by falling count, equal counts by
// falling cpu, milli, count and models as text joined by "|". Of N tasks with
// cum in the list, a share is (times/N) / (cum/N), divided in this order. The
// kind of device is left out too: the source knows one. Models are compared as
// that text, so whoever repeats the published runs must give them as the trace
// writes them, where a few are named twice, and not sorted and distinct as in a
// valid job.
func TypicalTasks(requests []poise.Request) []Typical {
	type key struct {
		cpu          int64
		milli, count int32
		models       string
	}
	type entry struct {
		Typical
		text string
	}
	var all []entry
	index := map[key]int{}
	for i := range requests {
		d := &requests[i].Device
		cpu, _ := requests[i].Amounts.Find("cpu")
		k := key{cpu, d.Milli, d.Count, strings.Join(d.Models, "|")}
		at, ok := index[k]
		if !ok {
			at = len(all)
			index[k] = at
			all = append(all, entry{Typical{CPU: cpu, Count: d.Count, Milli: d.Milli, Models: d.Models}, k.models})
		}
		all[at].Times++
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(b.Times, a.Times), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Milli, a.Milli),
			cmp.Compare(b.Count, a.Count), strings.Compare(b.text, a.text),
		)
	})
	list, covered := make([]Typical, 0, len(all)), 0
	for i := 0; i < len(all) && covered*100 < typicalPercent*len(requests); i++ {
		list = append(list, all[i].Typical)
		covered += all[i].Times
	}
	n := float64(len(requests))
	for i := range list {
		list[i].Share = float64(list[i].Times) / n / (float64(covered) / n)
	}
	return list
}
