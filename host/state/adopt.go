package state

import (
	"fmt"
	"math"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// adopt makes a job known as an earlier history had it. What it asks for of a
// resource that no node ever declared cannot be held, so that it does not run.
func (s *State) adopt(b *poise.JobAdopted, at poise.Time) error {
	op := fmt.Sprintf("adopt job %q", b.Job.ID)
	if err := b.Job.Validate(); err != nil {
		return err
	}
	row, present := s.rowOf[b.Node]
	switch {
	case b.Failures < 0:
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("failures: %d, expected 0 or more", b.Failures)}
	case b.Node == "":
	case !present:
		return notFound(op, fmt.Sprintf("node %q: no such node", b.Node))
	case b.Job.Held != "" || len(b.Job.After) > 0:
		return conflict(op, "it is held or comes after another job, expected one that may run")
	}
	if b.Node != "" {
		for _, a := range b.Job.Request.Amounts {
			d, known := s.dims.Index(a.Name)
			switch {
			case a.Value == 0:
			case !known:
				return conflict(op, fmt.Sprintf("%s: of no node, expected a resource that one declares", a.Name))
			case s.live.Allocated(row, d) > math.MaxInt64-a.Value:
				return conflict(op, fmt.Sprintf("%s: request %s beside what the node holds, expected a sum below 2^63", a.Name, resource.Format(a.Name, a.Value)))
			}
		}
	}
	since := at
	if b.Since > 0 {
		since = min(since, b.Since)
	}
	if err := s.submitJob(&b.Job, since); err != nil {
		return err
	}
	j := s.jobs[b.Job.ID]
	if b.Failures > 0 {
		j.change(func(m *More) { m.Failures = b.Failures })
	}
	if g := s.GangOf(j); g != nil && (b.Started || b.Node != "") {
		g.Started = true
	}
	if b.Node == "" {
		return nil
	}
	hot := s.hotPage(row)
	for _, a := range j.Shape.Request.Amounts {
		if d, known := s.dims.Index(a.Name); known {
			hot.widen(d + 1)
		}
	}
	s.hold(j, row, s.live.lowest(row, &j.Shape.Request.Device), at)
	return nil
}
