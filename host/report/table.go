package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/sim"
)

// Table prints one line a result, and below them the means over the seeds
// where a policy ran with several, and over the workloads where there are
// several. Each mode has a table of its own.
func Table(w io.Writer, results []*sim.Result) error {
	results = variants(results)
	for i, mode := range modes(results) {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := modeTable(w, mode, ofMode(results, mode)); err != nil {
			return err
		}
	}
	return nil
}

// modes lists the modes of the results in the order in which they first come.
func modes(results []*sim.Result) []sim.Mode {
	var all []sim.Mode
	for _, r := range results {
		if !slices.Contains(all, r.Mode) {
			all = append(all, r.Mode)
		}
	}
	return all
}

func ofMode(results []*sim.Result, mode sim.Mode) []*sim.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *sim.Result) bool { return r.Mode != mode })
}

func modeTable(w io.Writer, mode sim.Mode, results []*sim.Result) error {
	measures := measuresOf(mode, results)
	g := grid{left: 2}
	g.add(heads(measures, "workload", "policy", "seed", "nodes")...)
	for _, r := range results {
		row := []string{plain(r.Workload), plain(r.Policy), strconv.FormatInt(r.Seed, 10), strconv.Itoa(r.Nodes)}
		for i := range measures {
			row = append(row, measures[i].text(measures[i].of(r)))
		}
		g.add(row...)
	}
	all := sections(results)
	if len(results) > 1 && slices.ContainsFunc(all, func(s *section) bool { return s.seeds() > 1 }) {
		g.add()
		g.add(heads(measures, "mean over seeds", "policy", "seeds", "nodes")...)
		for _, s := range all {
			for _, f := range s.families {
				row := []string{plain(s.workload), plain(f.policy), strconv.Itoa(len(f.runs)), strconv.Itoa(s.nodes)}
				for i := range measures {
					row = append(row, measures[i].text(f.stat(&measures[i]).mean))
				}
				g.add(row...)
			}
		}
	}
	if len(all) > 1 {
		g.add()
		g.add(heads(measures, "mean over workloads", "policy", "of", "nodes")...)
		for _, policy := range policies(all) {
			g.add(overWorkloads(all, policy, measures)...)
		}
	}
	return g.write(w)
}

func heads(measures []measure, first ...string) []string {
	for i := range measures {
		first = append(first, measures[i].head)
	}
	return first
}

// policies lists the policies of all sections in the order in which they first
// come.
func policies(all []*section) []string {
	var names []string
	for _, s := range all {
		for _, f := range s.families {
			if !slices.Contains(names, f.policy) {
				names = append(names, f.policy)
			}
		}
	}
	return names
}

// overWorkloads is the line of one policy: the mean over sections of the means
// over seeds, so that a workload with more seeds weighs no more.
func overWorkloads(all []*section, policy string, measures []measure) []string {
	of, nodes := 0, ""
	means := make([][]float64, len(measures))
	for _, s := range all {
		f := find(s.families, func(f *family) bool { return f.policy == policy })
		if f == nil {
			continue
		}
		of++
		if n := strconv.Itoa(s.nodes); nodes == "" || nodes == n {
			nodes = n
		} else {
			nodes = "-"
		}
		for i := range measures {
			means[i] = append(means[i], f.stat(&measures[i]).mean)
		}
	}
	row := []string{"", plain(policy), strconv.Itoa(of), nodes}
	for i := range measures {
		row = append(row, measures[i].text(statOf(means[i]).mean))
	}
	return row
}
