package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// nodeText is all that a snapshot says of a row's node, but for what depends
// on the order in which nodes joined: row, versions, symbols, incarnation.
func nodeText(s *Snapshot, row uint32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cluster=%q ready=%v drained=%v schedulable=%v labels=%v taints=%v tainted=%v",
		s.Name(row), s.Cluster(row), !s.NotReady(row), s.Drained(row), s.Schedulable(row), s.Labels(row), s.Taints(row), s.Tainted(row))
	dims := slices.Clone(s.Dims())
	slices.Sort(dims)
	for _, name := range dims {
		d := slices.Index(s.Dims(), name)
		if s.Capacity(row, d) != 0 || s.Allocated(row, d) != 0 || s.Idle(row, d) != 0 {
			fmt.Fprintf(&b, " %s=%d/%d/%d", name, s.Capacity(row, d), s.Allocated(row, d), s.Idle(row, d))
		}
	}
	fmt.Fprintf(&b, " devices=%d %q %q exclusive=%v free=%v running=%d tasks=",
		s.Devices(row), s.Kinds()[s.Kind(row)], s.Models()[s.Model(row)], s.Exclusive(row), s.Free(row), s.Running(row))
	for l := s.Tasks(row); l != nil; l = l.Next {
		b.WriteString(taskText(l.Task.Job, l.Task.Devices, l.Task.Placed, &l.Task.Shape.Request))
	}
	return b.String()
}

func taskText(job poise.JobID, devices []uint16, placed poise.Time, r *poise.Request) string {
	return fmt.Sprintf("[%s on %v since %d: %v]", job, devices, placed, *r)
}

// content is what a snapshot says of its nodes, sorted by name.
func content(s *Snapshot) string {
	var lines []string
	for row := range uint32(s.Rows()) {
		if s.Present(row) {
			lines = append(lines, nodeText(s, row))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// byRank gives the present rows by rising rank.
func byRank(s *Snapshot) []uint32 {
	var rows []uint32
	for row := range uint32(s.Rows()) {
		if s.Present(row) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b uint32) int {
		if s.Rank(a) < s.Rank(b) {
			return -1
		}
		return 1
	})
	return rows
}

// dump is all that a snapshot says. Ranks come as the order that they give:
// the numbers depend on when somebody looked.
func dump(s *Snapshot) string {
	var b strings.Builder
	changes, _ := s.ChangesSince(s.changesBase)
	log := uint64(len(changes))
	for _, row := range changes {
		log = log*1099511628211 + uint64(row)
	}
	fmt.Fprintf(&b, "rows %d, nodes %d, version %d, joins %d, arrivals %d, epoch %d, by rank %v, changes since %d: %x\ndims %q kinds %q models %q\n",
		s.Rows(), s.Nodes(), s.Version(), s.Joins(), s.Arrivals(), s.Epoch(), byRank(s), s.changesBase, log, s.Dims(), s.Kinds(), s.Models())
	for _, p := range s.profiles {
		fmt.Fprintf(&b, "%s: %+v\n", p.Kind, *s.Profile(p.Kind))
	}
	for _, r := range s.Reservations() {
		fmt.Fprintln(&b, reservationText(r))
	}
	for row := range uint32(s.Rows()) {
		fmt.Fprintf(&b, "%d v%d flags %d: ", row, s.RowVersion(row), s.flags(row))
		if s.Present(row) {
			fmt.Fprintf(&b, "incarnation %d described %d kind %d model %d: %s", s.Incarnation(row), s.Described(row), s.Kind(row), s.Model(row), nodeText(s, row))
			for l := s.Tasks(row); l != nil; l = l.Next {
				fmt.Fprintf(&b, " shape %d", l.Task.Shape.ID)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// dumpState is all that a state knows.
func dumpState(s *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "index %d, %d jobs of %d shapes, last shape %d, free rows %v\n%s", s.Index(), s.Jobs(), s.Shapes(), s.shapes.next, s.freeRows, dump(s.View()))
	var jobs []string
	for _, j := range s.jobs {
		line := fmt.Sprintf("%s %q of %s: priority %d, %d tasks, %d ms, at %d, seq %d, waiting %v, shape %d %v %v %v", j.ID, j.Name, j.Tenant, j.Priority,
			j.Tasks, j.RunTime, j.Submitted, j.Seq, j.Waiting(), j.Shape.ID, j.Shape.Request, j.Shape.Selectors, j.Shape.Tolerations)
		spec := j.Spec()
		line += " " + lifeText(&spec, j.NotBefore, j.Failures)
		if t := j.Task(); t != nil {
			line += fmt.Sprintf(" row %d/%d %s", t.row, t.incarnation, taskText(t.Job, t.Devices, t.Placed, &t.Shape.Request))
		}
		jobs = append(jobs, fmt.Sprintf("%s %+v", line, j.Yield))
	}
	slices.Sort(jobs)
	for _, g := range s.Gangs() {
		jobs = append(jobs, fmt.Sprintf("gang %s of %s: %+v, started %v, %d came, %d run of %d", g.Spec.ID, g.Tenant, g.Spec, g.Started, g.arrived, g.running, len(g.members)))
	}
	fmt.Fprintf(&b, "%s\ndemand %v", strings.Join(jobs, "\n"), s.Demand())
	return b.String()
}
