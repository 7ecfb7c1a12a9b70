package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// reserved is what the loop knows of reservations beside the state.
type reserved struct {
	horizon *sched.Horizon
	tried   poise.Time // jobs whose reservations start by then were tried
	patient poise.Time // when a job that was blocked has waited long enough
	waits   bool       // patient is set
	// refused are the rows that a job's policy kept it off though it fits there, by
	// what their nodes said of themselves.
	refused map[poise.JobID]map[sched.RefusedRow]uint64

	rest  poise.Time    // nothing is looked for for a gang before
	again []poise.JobID // first members of gangs that are tried then
}

func newReserved() reserved {
	return reserved{horizon: sched.NewHorizon(), refused: map[poise.JobID]map[sched.RefusedRow]uint64{}}
}

// UseReservations changes for how many jobs nodes are kept, and after how long a
// wait. What is kept already is given up, or kept, when its job is tried again.
func (l *Loop) UseReservations(n int, patience poise.Span) {
	if l.settings.Reservations == n && l.settings.Patience == patience {
		return
	}
	l.settings.Reservations, l.settings.Patience = n, patience
	l.round.valid = false
	for _, of := range l.lists {
		of.queue.TryAll()
	}
}

// blocked says whether a job waits for nothing but room, so that keeping a node
// for it helps. Members of a gang that come after those that start together get
// what others leave.
func blocked(j *state.Job, d *poise.Decision) bool {
	return (d.Verdict == poise.FitsNotNow || d.Verdict == poise.BehindOthers) && !j.Extra() &&
		!slices.ContainsFunc(d.Reasons, func(r poise.Reason) bool { return r.Code() == poise.PolicyFaulted })
}

// reserve gives the events about reservations that come of a job that could not
// be placed, and says whether it has one then. The first blocked jobs that have
// waited long enough have one, as many as there may be. A tenant that has fewer
// goes before one that has more, and each tenant's jobs stand in its own order;
// else who has one keeps it.
func (l *Loop) reserve(w *Work, j *state.Job, d *poise.Decision, now poise.Time) (events []poise.Body, has bool) {
	all := l.state.View().Reservations()
	own := slices.IndexFunc(all, func(r *state.Reservation) bool { return r.For(j) })
	claims := 0 // those for which others made room stand in front, and beside the others
	for claims < len(all) && l.state.Claims(all[claims]) {
		claims++
	}
	switch {
	case own >= 0 && len(l.state.Yielding(all[own].Job)) > 0:
		return nil, true // until those have ended that make room for it
	case !blocked(j, d) || own-claims >= l.settings.Reservations || l.settings.Reservations == 0:
		if own < 0 {
			return nil, false
		}
		return []poise.Body{poise.ReservationEnded{Job: all[own].Job}}, false
	case w.members != nil && l.restsGang(j, now):
		return nil, own >= 0
	case own >= 0:
		return l.renew(w, j, own, now)
	}
	if due := j.Submitted + poise.Time(l.settings.Patience); now < due {
		if r := &l.reserved; !r.waits || due < r.patient {
			r.patient, r.waits = due, true
		}
		return nil, false
	}
	if len(all)-claims >= l.settings.Reservations {
		i := l.behind(&w.item, j.Tenant, all[claims:])
		if i < 0 {
			return nil, false
		}
		i += claims
		events = append(events, poise.ReservationEnded{Job: all[i].Job})
		all = slices.Delete(slices.Clone(all), i, i+1)
	}
	best, ok := l.earliest(w, j, now, all)
	if !ok {
		return nil, false
	}
	return append(events, best.made(j)), true
}

// start is where and when a job could start, or a gang.
type start struct {
	sched.Start          // without a row for a gang
	nodes       []string // by member
}

func (s *start) made(j *state.Job) poise.Body {
	return poise.ReservationMade{Job: j.ID, Nodes: s.nodes, Start: s.At}
}

// earliest gives the first start of a job, or of the gang that waits with it, beside
// what reservations claim.
func (l *Loop) earliest(w *Work, j *state.Job, now poise.Time, claims []*state.Reservation) (start, bool) {
	if w.members != nil {
		return l.earliestGang(w, j, now, claims)
	}
	s, ok := l.reserved.horizon.Earliest(l.state.View(), j, now, claims, l.avoid(j))
	if !ok {
		return start{}, false
	}
	return start{s, []string{l.state.View().Name(s.Row)}}, true
}

// avoid says which rows are nothing to a job: its tenant may hold no more there,
// or its policy keeps it off them.
func (l *Loop) avoid(j *state.Job) func(row uint32) bool {
	view := l.state.View()
	bars, refused := pooled(l.state, view, j), l.reserved.refused[j.ID]
	return func(row uint32) bool {
		described, ok := refused[sched.RefusedRow{Shape: j.Shape.ID, Row: row}]
		return ok && described == view.Described(row) || barred(bars, row)
	}
}

// behind gives the reservation that a job takes the place of, or -1: one of the
// tenant that has the most, if that has at least two more than the job's own, or
// one of its own tenant that comes after it; of these the last in order.
func (l *Loop) behind(item *queue.Item, tenant poise.TenantID, all []*state.Reservation) int {
	count := map[poise.TenantID]int{}
	for _, r := range all {
		count[r.Tenant]++
	}
	most := tenant
	for _, r := range all {
		if count[r.Tenant] > count[most]+1 || most != tenant && count[r.Tenant] > count[most] {
			most = r.Tenant
		}
	}
	last := -1
	var lastHead queue.Head
	for i, r := range all {
		of := l.lists[r.Tenant]
		if r.Tenant != most || of == nil {
			continue
		}
		head, waits := of.queue.Head(r.Job)
		if !waits {
			continue // it is planned now
		}
		if last < 0 || lastHead.Before(head) {
			last, lastHead = i, head
		}
	}
	if last >= 0 && most == tenant && !l.lists[tenant].queue.Before(item, all[last].Job) {
		return -1
	}
	return last
}

// renew gives the event by which a job's reservation becomes another one. It is
// moved where it cannot be held any more, by those that go before it, or where the
// job could start earlier elsewhere and delay nobody else who has one.
func (l *Loop) renew(w *Work, j *state.Job, own int, now poise.Time) (events []poise.Body, has bool) {
	view := l.state.View()
	all := view.Reservations()
	r := all[own]
	have, held := l.have(w, j, r, now, all[:own])
	if held && have.Now && r.Start <= now {
		return nil, true // others are in the way that it will not wait for long
	}
	due := r.Start != 0 && r.Start <= now
	switch {
	case !held:
	case r.Start == 0:
		have.At = 0
	case due:
	case have.At == 0 || have.At > r.Start:
		held = false
	default:
		have.At = r.Start
	}
	claims := all[:own]
	if held {
		claims = append(slices.Clone(claims), all[own+1:]...)
	}
	best, ok := l.earliest(w, j, now, claims)
	switch {
	case held && (!ok || !best.Before(&have) || due && l.keeps(r, best.nodes)):
		return nil, true
	case !ok:
		return []poise.Body{poise.ReservationEnded{Job: r.Job}}, false
	}
	return []poise.Body{best.made(j)}, true
}

// have gives from when on a job could start where something is kept for it, beside
// those that go before it; false where it cannot.
func (l *Loop) have(w *Work, j *state.Job, r *state.Reservation, now poise.Time, before []*state.Reservation) (sched.Start, bool) {
	if w.members != nil {
		return l.haveGang(w, j, r, now, before)
	}
	view := l.state.View()
	row, there := r.Holds[0].Row(view)
	if !there || l.avoid(j)(row) {
		return sched.Start{}, false
	}
	have, held := l.reserved.horizon.On(view, j, row, now, before)
	return have, held && !(have.Now && l.keptOff(w, j, row, now))
}

// keeps says whether a reservation is for these nodes.
func (l *Loop) keeps(r *state.Reservation, nodes []string) bool {
	return slices.EqualFunc(r.Holds, nodes, func(h state.Hold, node string) bool { return h.Node == node })
}

// keptOff says whether it is its policy that keeps a job off its row, on which it
// fits, and takes that down.
func (l *Loop) keptOff(w *Work, j *state.Job, row uint32, now poise.Time) bool {
	view := l.state.View()
	if int(row) >= w.snap.Rows() || w.snap.RowVersion(row) != view.RowVersion(row) || barred(Bars(l.state, view, j, now), row) {
		return false
	}
	l.refuse(j, sched.RefusedRow{Shape: j.Shape.ID, Row: row})
	return true
}

// refuse takes down that a job's policy keeps it off a row, or a member of its gang.
func (l *Loop) refuse(j *state.Job, row sched.RefusedRow) {
	if l.reserved.refused[j.ID] == nil {
		l.reserved.refused[j.ID] = map[sched.RefusedRow]uint64{}
	}
	l.reserved.refused[j.ID][row] = l.state.View().Described(row.Row)
}

// park has the queue keep a job that could not be placed. One that has a
// reservation waits by itself: the others of its shape are tried without it.
func (l *Loop) park(of *list, w *Work, j *state.Job, d *poise.Decision, has bool, seen uint64, now poise.Time) error {
	item, causes := w.item, queue.CausesOf(d)
	if w.members == nil {
		if item.Shape = l.shapes.together(j, of.lane, l.byPriority()); has {
			item.Shape = l.shapes.alone(j)
		}
	}
	if l.settings.Reservations > 0 && blocked(j, d) {
		causes |= queue.Reserved
	}
	if d.Verdict == poise.BehindOthers {
		return of.queue.ParkLonger(item, causes, seen, now)
	}
	return of.queue.Park(item, causes, seen, now)
}

// tryReserved has the jobs tried for which it is time, and those that have waited
// long enough to have something reserved.
func (l *Loop) tryReserved(now poise.Time) {
	r := &l.reserved
	l.tryGangs(now)
	r.tried = min(r.tried, now) // the clock was set back
	for _, each := range l.state.View().Reservations() {
		if of := l.lists[each.Tenant]; of != nil && each.Start > r.tried && each.Start <= now {
			of.queue.Try(each.Job)
			l.round.valid = false
		}
	}
	if r.tried = now; r.waits && r.patient <= now {
		r.waits, l.round.valid = false, false
		for _, of := range l.lists {
			of.queue.TryAll()
		}
	}
}

// nextReserved is the next time at which tryReserved has something to do.
func (l *Loop) nextReserved(now poise.Time) (at poise.Time, ok bool) {
	at, ok = l.reserved.patient, l.reserved.waits && l.reserved.patient > now
	if rest := l.reserved.rest; len(l.reserved.again) > 0 && rest > now && (!ok || rest < at) {
		at, ok = rest, true
	}
	for _, each := range l.state.View().Reservations() {
		if each.Start > now && (!ok || each.Start < at) {
			at, ok = each.Start, true
		}
	}
	return at, ok
}

// helpsReserved gives what an event may change for the better for jobs that are
// kept off by reservations or would have one, as the state is before it.
func (l *Loop) helpsReserved(body poise.Body) queue.Causes {
	view := l.state.View()
	if len(view.Reservations()) == 0 {
		return 0
	}
	helps := false
	switch b := body.(type) {
	case poise.JobFinished:
		helps = l.onReserved(b.Job)
	case poise.JobRequeued:
		helps = l.onReserved(b.Job)
	case poise.JobPlaced:
		helps = l.hasReserved(b.Placement.Job)
	case poise.GangPlaced:
		helps = len(b.Placements) > 0 && l.hasReserved(b.Placements[0].Job)
	case poise.JobWithdrawn:
		helps = l.hasReserved(b.Job)
	case poise.JobHeld:
		helps = l.hasReserved(b.Job)
	case poise.ReservationMade:
		helps = view.Reservation(b.Job) != nil
	case poise.ReservationEnded:
		helps = true
	case poise.NodeLeft:
		helps = l.reservedNode(b.Name)
	case poise.NodeMarked:
		helps = l.reservedNode(b.Name)
	}
	if !helps {
		return 0
	}
	return queue.Reserved
}

func (l *Loop) hasReserved(id poise.JobID) bool {
	j := l.state.Job(id)
	return j != nil && slices.ContainsFunc(l.state.View().Reservations(), func(r *state.Reservation) bool { return r.For(j) })
}

// onReserved says whether a job holds part of a node that is reserved.
func (l *Loop) onReserved(id poise.JobID) bool {
	j, view := l.state.Job(id), l.state.View()
	if j == nil || j.Waiting() {
		return false
	}
	row, ok := j.Task().Row(view)
	return ok && slices.ContainsFunc(view.Reservations(), func(r *state.Reservation) bool {
		for range r.On(view, row) {
			return true
		}
		return false
	})
}

func (l *Loop) reservedNode(name string) bool {
	return slices.ContainsFunc(l.state.View().Reservations(), func(r *state.Reservation) bool {
		return slices.ContainsFunc(r.Holds, func(h state.Hold) bool { return h.Node == name })
	})
}
