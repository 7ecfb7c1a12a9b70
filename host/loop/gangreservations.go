package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// heldPrice is what a member of a gang counts for which a node is kept, in things
// looked at: its event names them all.
const heldPrice = 64

// earliestGang is earliest for the gang of a piece of work. After a look for one nothing
// is looked for for as long as lets this be a small part of the loop's time, see
// searchRate.
func (l *Loop) earliestGang(w *Work, j *state.Job, now poise.Time, claims []*state.Reservation) (start, bool) {
	r, view := &l.reserved, l.state.View()
	members := l.together(j)
	rows := l.avoidGang(w, j)
	found, ok := sched.EarliestGang(view, members, now, claims, func(row uint32, m *state.Job) bool {
		return rows(sched.RefusedRow{Shape: m.Shape.ID, Row: row})
	})
	r.rest = now + poise.Time((found.Looked+heldPrice*len(members))/searchRate)
	if !ok {
		return start{}, false
	}
	nodes := make([]string, len(members))
	for i, row := range found.Rows {
		nodes[i] = view.Name(row)
	}
	return start{sched.Start{At: found.At, Now: found.Now}, nodes}, true
}

// restsGang says whether nothing is looked for for a gang yet. It is tried when that is
// over.
func (l *Loop) restsGang(j *state.Job, now poise.Time) bool {
	r := &l.reserved
	if now >= r.rest || r.rest-now > longestRest {
		return false
	}
	if !slices.Contains(r.again, j.ID) {
		r.again = append(r.again, j.ID)
	}
	return true
}

// tryGangs has the gangs tried for which nothing could be looked for for a while.
func (l *Loop) tryGangs(now poise.Time) {
	r := &l.reserved
	if len(r.again) == 0 || now < r.rest && r.rest-now <= longestRest {
		return
	}
	for _, id := range r.again {
		if j := l.state.Job(id); j != nil && l.lists[j.Tenant] != nil {
			l.lists[j.Tenant].queue.Try(id)
			l.round.valid = false
		}
	}
	r.again = nil
}

// avoidGang says which rows are nothing to members of a gang: those of avoid, and those
// that its policy kept members off when it was asked last.
func (l *Loop) avoidGang(w *Work, j *state.Job) func(row sched.RefusedRow) bool {
	view := l.state.View()
	bars, refused, kept := pooled(l.state, view, j), l.reserved.refused[j.ID], l.refusedNow(w)
	return func(row sched.RefusedRow) bool {
		described, ok := refused[row]
		return ok && described == view.Described(row.Row) || kept[row] || barred(bars, row.Row)
	}
}

// refusedNow gives what its policy kept members of a gang off when it was asked last, and
// that has not changed since.
func (l *Loop) refusedNow(w *Work) map[sched.RefusedRow]bool {
	refused := make(map[sched.RefusedRow]bool, len(w.plan.Refused))
	for _, row := range w.plan.Refused {
		refused[row] = l.unchanged(w, row.Row)
	}
	return refused
}

// unchanged says whether a row is as it was when a job was planned.
func (l *Loop) unchanged(w *Work, row uint32) bool {
	return int(row) < w.snap.Rows() && w.snap.RowVersion(row) == l.state.View().RowVersion(row)
}

// haveGang is have for a gang. Where its policy keeps members off their rows, that is
// taken down.
func (l *Loop) haveGang(w *Work, j *state.Job, r *state.Reservation, now poise.Time, before []*state.Reservation) (sched.Start, bool) {
	view, members := l.state.View(), l.together(j)
	rows, ok := sched.Held(view, r, members)
	if !ok {
		return sched.Start{}, false
	}
	have, ok := sched.GangOn(view, members, rows, now, before)
	if !ok {
		return sched.Start{}, false
	}
	refused := l.refusedNow(w)
	for i, m := range members {
		if row := (sched.RefusedRow{Shape: m.Shape.ID, Row: rows[i]}); refused[row] {
			l.refuse(j, row)
		}
	}
	avoid := l.avoidGang(w, j)
	for i, m := range members {
		if avoid(sched.RefusedRow{Shape: m.Shape.ID, Row: rows[i]}) {
			return sched.Start{}, false
		}
	}
	return sched.Start{At: have.At, Now: have.Now}, true
}
