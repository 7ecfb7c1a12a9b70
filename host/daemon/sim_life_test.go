package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// policies draws whose tasks end for others and for how many jobs nodes are kept.
func (s *simulation) policies() {
	q := &s.config.Queue
	q.Preemption = []string{"off", "priority", "reclaim", "both"}[s.r.Intn(4)]
	q.PreemptionGrace, q.PreemptionCooldown = time.Duration(s.r.Intn(2000))*time.Millisecond, time.Duration(s.r.Intn(2000))*time.Millisecond
	q.ElasticHold, q.Patience = time.Duration(s.r.Intn(2000))*time.Millisecond, time.Duration(s.r.Intn(3000))*time.Millisecond
	q.Reservations = int64(s.r.Intn(4))
	s.note("preemption %s, %d reservations", q.Preemption, q.Reservations)
}

// operate puts in force what an operator would have: a scheduler, and a guarantee of
// tenant u, so that others give way to it.
func (s *simulation) operate() error {
	if s.core.loop.State().Policies().Tenant("u") != nil {
		return nil
	}
	if err := s.core.event(poise.SchedulerSet{Scheduler: scheduler(s.config)}); err != nil {
		return err
	}
	return s.core.event(poise.TenantSet{Tenant: poise.Tenant{ID: "u", Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: 8000}}}})
}

// live draws what a job's life is to be like: held, tried again, with deadlines.
func (s *simulation) live(spec *Spec) {
	j := &spec.Job
	if s.r.Intn(8) == 0 {
		j.Held = "sim"
	}
	if s.r.Intn(3) == 0 {
		j.Retry = &poise.Retry{Limit: int32(1 + s.r.Intn(3)), Backoff: 100, MaxBackoff: 2000}
	}
	if s.r.Intn(8) == 0 {
		j.RunTime = poise.Span(1 + s.r.Intn(1000))
	}
	switch s.r.Intn(16) {
	case 0:
		spec.StartIn = poise.Span(1 + s.r.Intn(5000))
	case 1:
		spec.FinishIn = spec.Job.RunTime + poise.Span(1+s.r.Intn(5000))
	}
}

// gang makes a job the first of a gang, and gives all of its members.
func (s *simulation) gang(first Spec) []Spec {
	size := int32(2 + s.r.Intn(3))
	g := poise.Gang{ID: first.Job.Name, Size: size}
	if s.r.Intn(2) == 0 {
		g.Min = 1 + s.r.Int31n(size)
	}
	all := make([]Spec, size)
	for i := range all {
		member := g
		member.Index = int32(i)
		all[i] = first
		all[i].Job.Name = fmt.Sprintf("%s-%d", first.Job.Name, i)
		all[i].Job.Gang, all[i].Job.Tasks = &member, size
	}
	return all
}

// needs draws what a job comes after: one before it in the submission, or any that
// is in the history.
func (s *simulation) needs(specs []Spec, known []store.JobRow) {
	for i := range specs {
		if s.r.Intn(5) > 0 {
			continue
		}
		field := []string{afterWell, afterEnd, afterFailure}[s.r.Intn(3)]
		switch {
		case i > 0 && s.r.Intn(2) == 0:
			k := s.r.Intn(i)
			if g := specs[k].Job.Gang; g != nil && specs[i].Job.Gang != nil && g.ID == specs[i].Job.Gang.ID {
				continue // it would wait for a member that starts with it
			}
			specs[i].needs = []need{{field: field, text: specs[k].Job.Name, inside: []int{k}}}
		case len(known) > 0:
			row := known[s.r.Intn(len(known))]
			specs[i].needs = []need{{field: field, text: row.ID, outside: []store.JobRow{row}}}
		}
	}
}

// change holds, releases or gives another priority to a job.
func (s *simulation) change() {
	c := s.core
	ids := slices.Sorted(maps.Keys(c.jobs))
	if len(ids) == 0 || s.archive.stalled != nil {
		return
	}
	live := c.jobs[ids[s.r.Intn(len(ids))]]
	id := string(live.spec.Job.ID)
	switch s.r.Intn(4) {
	case 0:
		if changed, err := c.hold(live, "sim"); err == nil && changed {
			s.note("hold %s", id)
			c.then(func() { s.held[id] = live.spec.Job.Held != "" }, func(error) {})
		}
	case 1, 2:
		for _, id := range ids {
			if c.jobs[id].spec.Job.Held != "" {
				live = c.jobs[id]
				break
			}
		}
		delete(s.held, string(live.spec.Job.ID))
		if c.release(live) {
			s.note("release %s", live.spec.Job.ID)
		}
	default:
		s.note("priority of %s", id)
		c.setPriority(live, int32(s.r.Intn(4)), "sim")
	}
}

// releaseAll lets everything go on that is held.
func (s *simulation) releaseAll() {
	clear(s.held)
	for _, id := range slices.Sorted(maps.Keys(s.core.jobs)) {
		s.core.release(s.core.jobs[id])
	}
}

// knownRows are the jobs in the history of a tenant, by arrival.
func (s *simulation) knownRows(tenant string) []store.JobRow {
	var rows []store.JobRow
	for _, row := range s.archive.jobs {
		if row.Tenant == tenant {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.JobRow) int { return cmp.Compare(a.Seq, b.Seq) })
	return rows
}
