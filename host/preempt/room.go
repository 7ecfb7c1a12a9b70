package preempt

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// room is a row on which a job fits once the victims have ended.
type room struct {
	row     uint32
	cost    cost
	victims []*victim
}

// shelf is what of a row a job may take.
type shelf struct {
	row     uint32
	view    *state.Snapshot
	request *poise.Request
	idle    []int64 // by amount of the request
	free    []int32 // milli-devices, by device
}

func newShelf(view *state.Snapshot, row uint32, r *poise.Request) *shelf {
	s := &shelf{row: row, view: view, request: r, idle: make([]int64, len(r.Amounts))}
	for i, a := range r.Amounts {
		if dim := slices.Index(view.Dims(), a.Name); dim >= 0 {
			s.idle[i] = view.Capacity(row, dim) - view.Allocated(row, dim)
		}
	}
	if r.Device.Count > 0 {
		for _, milli := range view.Free(row) {
			s.free = append(s.free, int32(milli))
		}
	}
	return s
}

// fits says whether the request fits, and what it lacks.
func (s *shelf) fits() bool { return len(s.lacking()) == 0 }

func (s *shelf) lacking() []string {
	var lacking []string
	for i, a := range s.request.Amounts {
		if s.idle[i] < a.Value {
			lacking = append(lacking, a.Name)
		}
	}
	d := &s.request.Device
	free := int32(0)
	for _, milli := range s.free {
		if milli >= d.Milli {
			free++
		}
	}
	if free < d.Count {
		lacking = append(lacking, d.Kind)
	}
	return lacking
}

// put gives back what a victim holds of the row, or where sign is -1 takes it
// again.
func (s *shelf) put(v *victim, sign int64) {
	for _, j := range v.jobs {
		t := j.Task()
		if row, ok := t.Row(s.view); !ok || row != s.row {
			continue
		}
		for i, a := range s.request.Amounts {
			held, _ := t.Shape.Request.Amounts.Find(a.Name)
			s.idle[i] += sign * held
		}
		for _, d := range t.Devices {
			if int(d) < len(s.free) {
				s.free[d] += int32(sign) * t.Shape.Request.Device.Milli
			}
		}
	}
}

// room finds victims on one row, nil where those that may end are not enough. Of
// equally harmful tasks, once those with the least work to do again go first, and once
// those that give the most room; the better of both outcomes counts.
func (f *finder) room(view *state.Snapshot, row uint32, j *state.Job) *room {
	s := newShelf(view, row, &j.Shape.Request)
	lacking := s.lacking()
	victims := f.victims(view, row, lacking)
	best := f.choose(s, victims, lacking)
	if best == nil || len(best.victims) == 1 {
		return best
	}
	slices.SortStableFunc(victims, func(a, b *victim) int {
		x, y := costOf(a), costOf(b)
		x.lost, y.lost, x.victims, y.victims = 0, 0, 0, 0
		return cmp.Or(x.compare(&y), cmp.Compare(s.helps(b), s.helps(a)))
	})
	if other := f.choose(s, victims, lacking); other != nil && other.cost.compare(&best.cost) < 0 {
		best = other
	}
	return best
}

// choose takes victims in the order given until there is room, and spares those that
// need not end.
func (f *finder) choose(s *shelf, from []*victim, lacking []string) *room {
	var victims []*victim
	for _, v := range from {
		if s.fits() {
			break
		}
		// With those before it gone, its tenant may have no more to give.
		if f.account.allowed(v, lacking) == none || slices.ContainsFunc(victims, func(o *victim) bool { return o.covers(v) }) {
			continue
		}
		for _, o := range victims {
			if v.covers(o) {
				s.put(o, -1)
			}
		}
		s.put(v, 1)
		victims = f.with(victims, v)
	}
	var r *room
	enough := s.fits()
	if enough {
		victims = s.spare(victims, f.account)
		r = &room{row: s.row, victims: victims, cost: cost{priority: lowest, rank: s.view.Rank(s.row)}}
	}
	for _, v := range victims {
		f.account.take(v, -1)
		s.put(v, -1)
		if c := costOf(v); enough {
			r.cost.add(&c)
		}
	}
	return r
}

// victims gives those on a row that may end, the cheapest first.
func (f *finder) victims(view *state.Snapshot, row uint32, lacking []string) []*victim {
	var all []*victim
	for l := view.Tasks(row); l != nil; l = l.Next {
		f.looked++
		v := f.victim(l.Task)
		if v == nil || slices.Contains(all, v) || f.account.allowed(v, lacking) == none {
			continue
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *victim) int {
		x, y := costOf(a), costOf(b)
		return cmp.Or(x.compare(&y), cmp.Compare(a.jobs[0].Seq, b.jobs[0].Seq))
	})
	return all
}

// spare lets those go that need not end: the costliest first, and of equally costly
// ones the smaller first, so that fewer are left.
func (s *shelf) spare(victims []*victim, a *account) []*victim {
	order := slices.Clone(victims)
	slices.SortStableFunc(order, func(x, y *victim) int {
		cx, cy := costOf(x), costOf(y)
		cx.lost, cy.lost = 0, 0
		return cmp.Or(cy.compare(&cx), cmp.Compare(s.helps(x), s.helps(y)), cmp.Compare(y.lost, x.lost), cmp.Compare(y.jobs[0].Seq, x.jobs[0].Seq))
	})
	for _, v := range order {
		if s.put(v, -1); s.fits() {
			a.take(v, -1)
			victims = slices.DeleteFunc(slices.Clone(victims), func(o *victim) bool { return o == v })
			continue
		}
		s.put(v, 1)
	}
	return victims
}

// helps is how much of the request a victim gives room for, in parts of it that
// add up over its resources.
func (s *shelf) helps(v *victim) float64 {
	part := 0.0
	for _, j := range v.jobs {
		t := j.Task()
		if row, ok := t.Row(s.view); !ok || row != s.row {
			continue
		}
		for _, a := range s.request.Amounts {
			if held, _ := t.Shape.Request.Amounts.Find(a.Name); a.Value > 0 {
				part += min(1, float64(held)/float64(a.Value))
			}
		}
		if d := &s.request.Device; d.Count > 0 && len(t.Devices) > 0 {
			part += min(1, float64(t.Shape.Request.Device.Total())/float64(d.Total()))
		}
	}
	return part
}

// devices gives devices of the row that a job can have, the lowest.
func (r *room) devices(view *state.Snapshot, j *state.Job) []uint16 {
	var chosen []uint16
	d := &j.Shape.Request.Device
	for i, milli := range view.Free(r.row) {
		if len(chosen) < int(d.Count) && int32(milli) >= d.Milli {
			chosen = append(chosen, uint16(i))
		}
	}
	return chosen
}
