package report

import (
	"math"

	"github.com/poise-sched/poise/host/sim"
)

// section is what can be compared: the results of one mode on one workload and
// a fleet of one size, by policy.
type section struct {
	mode     sim.Mode
	workload string
	nodes    int
	families []*family
}

// family is the runs of one policy in a section, over which means are taken.
type family struct {
	policy string
	runs   []*sim.Result
}

// sections groups results; sections, policies and runs stay in the order in
// which they first come.
func sections(results []*sim.Result) []*section {
	var all []*section
	for _, r := range results {
		s := find(all, func(s *section) bool { return s.mode == r.Mode && s.workload == r.Workload && s.nodes == r.Nodes })
		if s == nil {
			s = &section{mode: r.Mode, workload: r.Workload, nodes: r.Nodes}
			all = append(all, s)
		}
		f := find(s.families, func(f *family) bool { return f.policy == r.Policy })
		if f == nil {
			f = &family{policy: r.Policy}
			s.families = append(s.families, f)
		}
		f.runs = append(f.runs, r)
	}
	return all
}

func find[T any](list []*T, is func(*T) bool) *T {
	for _, x := range list {
		if is(x) {
			return x
		}
	}
	return nil
}

// runs gives all results of the section.
func (s *section) runs() []*sim.Result {
	var all []*sim.Result
	for _, f := range s.families {
		all = append(all, f.runs...)
	}
	return all
}

// seeds is the largest number of runs of one policy.
func (s *section) seeds() int {
	n := 0
	for _, f := range s.families {
		n = max(n, len(f.runs))
	}
	return n
}

// stat is a mean with the range it was taken over. All are NaN for no value.
type stat struct{ mean, lo, hi float64 }

// statOf takes the mean of the numbers among values.
func statOf(values []float64) stat {
	s, n := stat{math.NaN(), math.NaN(), math.NaN()}, 0.0
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if n++; n == 1 {
			s = stat{v, v, v}
			continue
		}
		s.mean += (v - s.mean) / n // no sum that could overflow
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
	return s
}

// stat takes the mean of a measure over the family's runs.
func (f *family) stat(m *measure) stat {
	values := make([]float64, len(f.runs))
	for i, r := range f.runs {
		values[i] = m.of(r)
	}
	return statOf(values)
}
