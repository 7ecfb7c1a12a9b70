package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Gang is what is known of a gang of which a member waits or runs. It is valid
// until the next Apply.
type Gang struct {
	Tenant poise.TenantID
	Spec   poise.Gang // Index means nothing here
	// Started: the first Spec.Least() members were placed together, and not all
	// members have gone back to waiting since. Those that wait follow one by one.
	Started bool

	arrived int32  // members that were ever submitted
	running int32  // members that run
	members []*Job // that wait or run, by index
}

// gangKey names a gang.
type gangKey struct {
	tenant poise.TenantID
	id     string
}

// GangImage is a Gang as plain data, beside its members.
type GangImage struct {
	Tenant  poise.TenantID
	ID      string
	Arrived int32
	Started bool `json:",omitempty"`
}

// Members are the members that wait or run, by index. The slice must not be
// changed.
func (g *Gang) Members() []*Job { return slices.Clip(g.members) }

// Running gives the members that run, by index.
func (g *Gang) Running() []*Job {
	return slices.DeleteFunc(slices.Clone(g.members), (*Job).Waiting)
}

// Head is the member that stands for the gang while it waits to start: the one
// with the smallest index.
func (g *Gang) Head() *Job { return g.members[0] }

// Ready says whether the gang may be tried: it has not started, no member still makes
// room for others, all are known, none comes after another job and none is held.
func (g *Gang) Ready() bool {
	if g.Started || g.running > 0 || len(g.members) != int(g.Spec.Size) {
		return false
	}
	return !slices.ContainsFunc(g.members, (*Job).Blocked)
}

// Core are the members that start together, by index.
func (g *Gang) Core() []*Job {
	return slices.DeleteFunc(slices.Clone(g.members), (*Job).Extra)
}

// Extra says whether the job is a member of a gang beyond those that start
// together: it takes what is idle, after all others, and is the first to give way.
func (j *Job) Extra() bool { return j.Gang != nil && j.Gang.Extra() }

// Alone says whether the job waits or runs by itself: it is in no gang, or in one
// that has started.
func (s *State) Alone(j *Job) bool {
	g := s.GangOf(j)
	return g == nil || g.Started
}

// GangOf gives the gang of a job that waits or runs, nil where it is in none.
func (s *State) GangOf(j *Job) *Gang {
	if j.Gang == nil {
		return nil
	}
	return s.gangs[gangKey{j.Tenant, j.Gang.ID}]
}

// Beside gives the rows of the members that run of a job's gang, by index.
func (s *State) Beside(j *Job) []uint32 {
	g := s.GangOf(j)
	if g == nil {
		return nil
	}
	var rows []uint32
	for _, m := range g.members {
		if t := m.task; t != nil && m != j && s.live.Present(t.row) && s.live.Incarnation(t.row) == t.incarnation {
			rows = append(rows, t.row)
		}
	}
	return rows
}

// Sum is a job that asks for what jobs of one tenant ask for together, for the
// questions that quotas answer. It is known to nobody. One kind of device is asked
// for as such, in devices of one milli, others as amounts.
func Sum(jobs []*Job) *Job {
	j := *jobs[0]
	first := &jobs[0].Shape.Request.Device
	totals := map[string]*sum{}
	for _, each := range jobs {
		r := &each.Shape.Request
		for _, a := range r.Amounts {
			into(totals, a.Name, a.Value)
		}
		into(totals, r.Device.Kind, r.Device.Total())
	}
	shape := &Shape{Selectors: jobs[0].Shape.Selectors}
	if devices := totals[first.Kind].amount(); first.Count > 0 && devices <= 1<<31-1 {
		shape.Request.Device = poise.DeviceRequest{Kind: first.Kind, Count: int32(devices), Milli: 1, Models: first.Models}
		delete(totals, first.Kind)
	}
	for name, total := range totals {
		shape.Request.Amounts = append(shape.Request.Amounts, resource.Amount{Name: name, Value: total.amount()})
	}
	slices.SortFunc(shape.Request.Amounts, func(a, b resource.Amount) int { return cmp.Compare(a.Name, b.Name) })
	j.Shape = shape
	return &j
}

// Gangs gives the gangs of which a member waits or runs, by tenant and id.
func (s *State) Gangs() []*Gang {
	all := make([]*Gang, 0, len(s.gangs))
	for _, g := range s.gangs {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *Gang) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Spec.ID, b.Spec.ID))
	})
	return all
}

// contradiction says why a job cannot be a member of the gang that it names, or
// "".
func (s *State) contradiction(j *poise.Job) string {
	if j.Gang == nil {
		return ""
	}
	g := s.gangs[gangKey{j.Tenant, j.Gang.ID}]
	if g == nil {
		return ""
	}
	name := fmt.Sprintf("gang %q: ", j.Gang.ID)
	switch {
	case !g.Spec.Same(j.Gang):
		return name + "another size, min or topology than its other members have, expected the same"
	case slices.ContainsFunc(g.members, func(m *Job) bool { return m.Gang.Index == j.Gang.Index }):
		return fmt.Sprintf("%sindex: %d a second time, expected each once", name, j.Gang.Index)
	case g.arrived == g.Spec.Size:
		return fmt.Sprintf("%sone member more than its size of %d", name, g.Spec.Size)
	}
	return ""
}

// join takes a job into its gang, if it names one.
func (s *State) join(j *Job) {
	if j.Gang == nil {
		return
	}
	key := gangKey{j.Tenant, j.Gang.ID}
	g := s.gangs[key]
	if g == nil {
		g = &Gang{Tenant: j.Tenant, Spec: *j.Gang}
		s.gangs[key] = g
	}
	g.arrived++
	at, _ := slices.BinarySearchFunc(g.members, j.Gang.Index, func(m *Job, index int32) int { return cmp.Compare(m.Gang.Index, index) })
	g.members = slices.Insert(g.members, at, j)
}

// leave takes a job out of its gang. A gang without members is forgotten.
func (s *State) leave(j *Job) {
	g := s.GangOf(j)
	if g == nil {
		return
	}
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(m *Job) bool { return m == j })
	if len(g.members) == 0 {
		delete(s.gangs, gangKey{j.Tenant, j.Gang.ID})
	}
}

// began takes note that a member runs.
func (s *State) began(j *Job) {
	if j.Extra() {
		s.extras++
	}
	if g := s.GangOf(j); g != nil {
		g.running++
	}
}

// waitsAgain takes note that a member runs no more and has not ended. Where none
// runs, and none has ended, the gang waits as a whole again.
func (s *State) waitsAgain(j *Job) {
	if g := s.GangOf(j); g != nil && g.running == 0 && len(g.members) == int(g.Spec.Size) {
		g.Started = false
	}
}

// goesOn takes note that a member ends while others make room: the gang cannot start as
// a whole again, and those that wait follow one by one.
func (s *State) goesOn(j *Job) {
	if g := s.GangOf(j); g != nil && (j.task != nil || g.running > 0) {
		g.Started = true
	}
}

// placeGang starts a gang: all placements or none.
func (s *State) placeGang(b *poise.GangPlaced, at poise.Time) error {
	if len(b.Placements) == 0 {
		return &poise.Error{Kind: poise.Invalid, Op: "place gang", Detail: "placements: none, expected one per member that starts"}
	}
	first := s.jobs[b.Placements[0].Job]
	if first == nil || first.Gang == nil {
		return notFound("place gang", fmt.Sprintf("job %q: no member of a gang", b.Placements[0].Job))
	}
	g := s.GangOf(first)
	op := fmt.Sprintf("place gang %q", g.Spec.ID)
	if !g.Ready() {
		return conflict(op, "it has started, is not complete or comes after a job, expected one that is ready to start")
	}
	if len(b.Placements) < int(g.Spec.Least()) {
		return conflict(op, fmt.Sprintf("placements: %d, expected %d to %d", len(b.Placements), g.Spec.Least(), g.Spec.Size))
	}
	trial, last := NewTrial(s.View(), &Tentative{}), int32(-1)
	jobs, rows := make([]*Job, len(b.Placements)), make([]uint32, len(b.Placements))
	for i := range b.Placements {
		p := &b.Placements[i]
		j, row, err := s.placeable(p)
		switch {
		case err != nil:
			return err
		case s.GangOf(j) != g || j.Gang.Index <= last || i < int(g.Spec.Least()) && int(j.Gang.Index) != i:
			return conflict(op, fmt.Sprintf("job %q at place %d, expected the members by index, the first %d all", j.ID, i, g.Spec.Least()))
		}
		last = j.Gang.Index
		if err := trial.Place(j, row, p.Devices); err != nil {
			return err
		}
		jobs[i], rows[i] = j, row
	}
	g.Started = true
	for i, j := range jobs {
		s.hold(j, rows[i], b.Placements[i].Devices, at)
	}
	startedTogether(jobs)
	return nil
}

// gangImages gives the gangs in no order.
func (s *State) gangImages() []GangImage {
	var images []GangImage
	for _, g := range s.gangs {
		images = append(images, GangImage{Tenant: g.Tenant, ID: g.Spec.ID, Arrived: g.arrived, Started: g.Started})
	}
	return images
}

// placeGangs says of the gangs that the jobs of an image form what their members do
// not say.
func (s *State) placeGangs(images []GangImage) error {
	for i := range images {
		e := &images[i]
		g := s.gangs[gangKey{e.Tenant, e.ID}]
		if g == nil || e.Arrived < int32(len(g.members)) || e.Arrived > g.Spec.Size {
			return broken("gang %q of tenant %q: %d members came, expected as many as it has, and no more than its size", e.ID, e.Tenant, e.Arrived)
		}
		g.arrived, g.Started = e.Arrived, e.Started
	}
	if len(images) != len(s.gangs) {
		return broken("gangs: %d, expected %d as jobs name them", len(images), len(s.gangs))
	}
	return nil
}
