package state

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Reservation is what is kept for a job that waits. It is immutable.
type Reservation struct {
	Job     poise.JobID
	Tenant  poise.TenantID
	RunTime poise.Span // declared; 0 = not declared
	Holds   []Hold
	Start   poise.Time // expected; 0 = not known

	gang string  // that the tasks are of, "" = none
	rows []int32 // the Holds, as indexes, by their rows
}

// Hold is what is kept on one node: room for one task.
type Hold struct {
	Node  string
	Shape *Shape // of the task

	row         uint32
	incarnation uint64
}

// Row gives the row of the node, false where it has left since.
func (h *Hold) Row(s *Snapshot) (uint32, bool) {
	return h.row, s.Present(h.row) && s.Incarnation(h.row) == h.incarnation
}

// On gives what is kept on a row of a snapshot, unless its node has left since. It
// costs log2(Holds).
func (r *Reservation) On(s *Snapshot, row uint32) iter.Seq[*Hold] {
	first, _ := slices.BinarySearchFunc(r.rows, row, func(i int32, row uint32) int { return cmp.Compare(r.Holds[i].row, row) })
	return func(yield func(*Hold) bool) {
		for _, i := range r.rows[first:] {
			h := &r.Holds[i]
			if h.row != row {
				return
			}
			if _, there := h.Row(s); there && !yield(h) {
				return
			}
		}
	}
}

// Rows gives the rows of a snapshot on which something is kept, ascending, each once.
func (r *Reservation) Rows(s *Snapshot) []uint32 {
	var rows []uint32
	for _, i := range r.rows {
		if row, there := r.Holds[i].Row(s); there && (len(rows) == 0 || rows[len(rows)-1] != row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// keep adds what is kept on one node for each of some tasks.
func (r *Reservation) keep(holds []Hold) {
	r.Holds, r.rows = holds, make([]int32, len(holds))
	for i := range r.rows {
		r.rows[i] = int32(i)
	}
	slices.SortStableFunc(r.rows, func(a, b int32) int { return cmp.Compare(holds[a].row, holds[b].row) })
}

// Reservations are what is kept for jobs that wait, in the order in which they
// were first made. The slice must not be changed.
func (s *Snapshot) Reservations() []*Reservation { return slices.Clip(s.reservations) }

// Reservation gives what is kept for a job, nil for nothing.
func (s *Snapshot) Reservation(job poise.JobID) *Reservation {
	for _, r := range s.reservations {
		if r.Job == job {
			return r
		}
	}
	return nil
}

func (s *State) reserve(b *poise.ReservationMade) error {
	if err := b.Validate(); err != nil {
		return err
	}
	r, err := s.reservation(b)
	if err != nil {
		return err
	}
	all := slices.Clone(s.live.reservations) // snapshots share it
	i := slices.IndexFunc(all, func(o *Reservation) bool { return o.Job == b.Job })
	if s.Claims(r) { // others made room for it: it goes before those that wait for room
		if i >= 0 {
			all = slices.Delete(all, i, i+1)
		}
		front := slices.IndexFunc(all, func(o *Reservation) bool { return !s.Claims(o) })
		if front < 0 {
			front = len(all)
		}
		all = slices.Insert(all, front, r)
	} else if i >= 0 {
		all[i] = r
	} else {
		all = append(all, r)
	}
	s.live.reservations = all
	return nil
}

// reservation gives what an event makes, or why it cannot.
func (s *State) reservation(b *poise.ReservationMade) (*Reservation, error) {
	op := func() string { return fmt.Sprintf("reserve for job %q", b.Job) }
	j := s.jobs[b.Job]
	switch {
	case j == nil:
		return nil, notFound(op(), "no such job")
	case j.task != nil || j.Blocked():
		return nil, conflict(op(), "the job is not to be placed now, expected one that waits for room")
	case len(s.live.reservations) >= poise.MaxReservations && s.live.Reservation(b.Job) == nil:
		return nil, conflict(op(), fmt.Sprintf("%d reservations, expected at most as many", poise.MaxReservations))
	}
	r, tasks := s.newReservation(j, b.Start)
	if len(b.Nodes) > len(tasks) {
		return nil, conflict(op(), fmt.Sprintf("%d nodes, expected at most one for each of %d tasks", len(b.Nodes), len(tasks)))
	}
	holds := make([]Hold, len(b.Nodes))
	for i, node := range b.Nodes {
		row, ok := s.rowOf[node]
		if !ok {
			return nil, notFound(op(), fmt.Sprintf("node %q: no such node", node))
		}
		holds[i] = Hold{Node: node, Shape: tasks[i].Shape, row: row, incarnation: s.live.Incarnation(row)}
	}
	r.keep(holds)
	return r, nil
}

// newReservation begins a reservation and gives the tasks that it is for. A gang runs as
// long as the longest of those that start together.
func (s *State) newReservation(j *Job, start poise.Time) (*Reservation, []*Job) {
	r := &Reservation{Job: j.ID, Tenant: j.Tenant, RunTime: j.RunTime, Start: start}
	if s.Alone(j) {
		return r, []*Job{j}
	}
	g := s.GangOf(j)
	r.gang = g.Spec.ID
	for _, m := range g.Core() {
		if m.RunTime == 0 {
			r.RunTime = 0
			break
		}
		r.RunTime = max(r.RunTime, m.RunTime)
	}
	return r, g.Members()
}

func (s *State) endReservation(id poise.JobID) error {
	if s.live.Reservation(id) == nil {
		return notFound(fmt.Sprintf("end reservation of job %q", id), "it has none")
	}
	s.dropReservations(func(r *Reservation) bool { return r.Job == id })
	return nil
}

// unreserve gives up what is kept for a job, or for the gang that it is in, if
// anything is.
func (s *State) unreserve(j *Job) {
	s.dropReservations(func(r *Reservation) bool { return r.For(j) })
}

func (s *State) dropReservations(which func(*Reservation) bool) {
	if slices.ContainsFunc(s.live.reservations, which) { // snapshots share them
		s.live.reservations = slices.DeleteFunc(slices.Clone(s.live.reservations), which)
	}
}

// For says whether the reservation is for the job, or for the gang that it is in.
func (r *Reservation) For(j *Job) bool {
	return r.Job == j.ID || r.gang != "" && j.Gang != nil && r.gang == j.Gang.ID && r.Tenant == j.Tenant
}

// ReservationImage is a reservation for keeping. Nodes that have left since are in
// it with the incarnation that they had.
type ReservationImage struct {
	Job   poise.JobID
	Holds []HoldImage
	Start poise.Time `json:",omitempty"`
}

// HoldImage is a Hold for keeping.
type HoldImage struct {
	Node        string
	Row         uint32
	Incarnation uint64
}

func (s *Snapshot) reservationImages() []ReservationImage {
	var all []ReservationImage
	for _, r := range s.reservations {
		im := ReservationImage{Job: r.Job, Start: r.Start}
		for _, h := range r.Holds {
			im.Holds = append(im.Holds, HoldImage{Node: h.Node, Row: h.row, Incarnation: h.incarnation})
		}
		all = append(all, im)
	}
	return all
}

// placeReservations takes over the reservations of an image, whose jobs are known.
func (s *State) placeReservations(im *Image) error {
	for _, e := range im.Reservations {
		j := s.jobs[e.Job]
		if j == nil || j.task != nil || s.live.Reservation(e.Job) != nil || len(s.live.reservations) >= poise.MaxReservations {
			return broken("reservation of job %q: expected one at most, of a job that waits, and %d in all", e.Job, poise.MaxReservations)
		}
		r, tasks := s.newReservation(j, e.Start)
		if len(e.Holds) == 0 || len(e.Holds) > len(tasks) || e.Start < 0 {
			return broken("reservation of job %q: %d nodes for %d tasks from %d ms on", e.Job, len(e.Holds), len(tasks), e.Start)
		}
		holds := make([]Hold, len(e.Holds))
		for i, h := range e.Holds {
			if int(h.Row) >= im.Rows {
				return broken("reservation of job %q: row %d of %d", e.Job, h.Row, im.Rows)
			}
			holds[i] = Hold{Node: h.Node, Shape: tasks[i].Shape, row: h.Row, incarnation: h.Incarnation}
		}
		r.keep(holds)
		s.live.reservations = append(s.live.reservations, r)
	}
	return nil
}
