package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// modelGang is what the members of a gang do not say.
type modelGang struct {
	spec    poise.Gang
	arrived int32
	started bool
}

type modelReservation struct {
	job   poise.JobID
	gang  string // that it is for as a whole, "" = for the job
	nodes []string
	start poise.Time
}

func gangName(j *modelJob) string { return string(j.Tenant) + " " + j.Gang.ID }

// gangOf gives the gang of a job, nil where it is in none.
func (m *model) gangOf(j *modelJob) *modelGang {
	if j.Gang == nil {
		return nil
	}
	return m.gangs[gangName(j)]
}

// members gives those that wait or run of a job's gang, by index.
func (m *model) members(j *modelJob) []*modelJob {
	var members []*modelJob
	for _, other := range m.jobs {
		if other.Gang != nil && gangName(other) == gangName(j) {
			members = append(members, other)
		}
	}
	slices.SortFunc(members, func(a, b *modelJob) int { return cmp.Compare(a.Gang.Index, b.Gang.Index) })
	return members
}

// alone says whether a job is placed by itself.
func (m *model) alone(j *modelJob) bool { return j.Gang == nil || m.gangOf(j).started }

// enlists takes a new job into its gang, or says that it contradicts it.
func (m *model) enlists(j *modelJob) bool {
	if j.Gang == nil {
		return true
	}
	g, members := m.gangOf(j), m.members(j)
	if len(members) == 0 {
		m.gangs[gangName(j)] = &modelGang{spec: *j.Gang, arrived: 1}
		return true
	}
	if !g.spec.Same(j.Gang) || g.arrived == g.spec.Size || slices.ContainsFunc(members, func(o *modelJob) bool { return o.Gang.Index == j.Gang.Index }) {
		return false
	}
	g.arrived++
	return true
}

// gangReady says whether all members wait, and are all there, and may be tried.
func (m *model) gangReady(j *modelJob) bool {
	g, members := m.gangOf(j), m.members(j)
	return !g.started && len(members) == int(g.spec.Size) &&
		!slices.ContainsFunc(members, func(o *modelJob) bool { return o.on != nil || len(o.After) > 0 || o.Held != "" })
}

// placeable says why a job cannot be placed on a node, whether or not it fits.
func (m *model) placeable(p *poise.Placement) (*modelJob, *modelNode, poise.Kind, bool) {
	j, n := m.jobs[p.Job], m.nodes[p.Node]
	switch {
	case j == nil:
		return nil, nil, poise.NotFound, false
	case j.on != nil || len(j.After) > 0 || j.Held != "":
		return nil, nil, poise.Conflict, false
	case n == nil:
		return nil, nil, poise.NotFound, false
	}
	return j, n, 0, true
}

// placeGang places members one after the other, and takes all back where one cannot be.
func (m *model) placeGang(b *poise.GangPlaced, at poise.Time) (kind poise.Kind, ok bool) {
	if len(b.Placements) == 0 {
		return poise.Invalid, false
	}
	first := m.jobs[b.Placements[0].Job]
	if first == nil || first.Gang == nil {
		return poise.NotFound, false
	}
	g := m.gangOf(first)
	if !m.gangReady(first) || len(b.Placements) < int(g.spec.Least()) {
		return poise.Conflict, false
	}
	var placed []*modelJob
	defer func() {
		if !ok {
			for _, j := range placed {
				j.on = nil
			}
		}
	}()
	last := int32(-1)
	for i := range b.Placements {
		p := &b.Placements[i]
		j, n, kind, ok := m.placeable(p)
		if !ok && !slices.Contains(placed, m.jobs[p.Job]) { // one that is named twice stands in the wrong place
			return kind, false
		}
		if !ok || m.gangOf(j) != g || j.Gang.Index <= last || i < int(g.spec.Least()) && int(j.Gang.Index) != i || !m.fits(j, n, p.Devices) {
			return poise.Conflict, false
		}
		last = j.Gang.Index
		m.run(j, n, p.Devices, at)
		placed = append(placed, j)
	}
	g.started = true
	forced := false
	for _, j := range placed {
		m.begins(j)
		forced = forced || j.yield.Forced
	}
	for _, j := range placed {
		j.yield.Forced = forced // others made room for all
	}
	return 0, true
}

// run has a job take its place.
func (m *model) run(j *modelJob, n *modelNode, devices []uint16, at poise.Time) {
	m.placings++
	j.on = &modelTask{node: n.Name, incarnation: n.incarnation, devices: devices, placed: at, order: m.placings, pool: modelPool(n)}
	m.becomes(j, n)
}

// begins takes down that a job runs.
func (m *model) begins(j *modelJob) {
	j.notBefore = 0
	j.yield.Forced, j.yield.Took = len(j.yield.Took) > 0, nil
	m.unreserve(j)
}

// ends takes down that a job that runs is over: what waits of its gang goes on one
// by one. The same where one that waits is withdrawn while others run.
func (m *model) ends(j *modelJob) {
	if g := m.gangOf(j); g != nil && slices.ContainsFunc(m.members(j), func(o *modelJob) bool { return o.on != nil }) {
		g.started = true
	}
	m.forget(j.ID)
}

// waitsAgain takes down that a job runs no more. A gang of which all members are there
// waits as a whole when none runs, and when one of those that start together was
// displaced and all that run are to be.
func (m *model) waitsAgain(j *modelJob, at poise.Time) {
	j.on = nil
	y := &j.yield
	displaced := y.By != ""
	y.Spared, y.Rests = 0, 0
	if y.Forced, y.By, y.Until = false, "", 0; displaced {
		y.Times++
		y.At = at
	}
	g := m.gangOf(j)
	if g == nil || len(m.members(j)) != int(g.spec.Size) {
		return
	}
	runs, stays := false, false
	for _, o := range m.members(j) {
		runs = runs || o.on != nil
		stays = stays || o.on != nil && o.yield.By == ""
	}
	if !runs || displaced && !j.Gang.Extra() && !stays {
		g.started = false
	}
}

func (m *model) preempt(b *poise.JobPreempted) (kind poise.Kind, ok bool) {
	j, by := m.jobs[b.Job], m.jobs[b.By]
	switch {
	case j == nil || by == nil:
		return poise.NotFound, false
	case j.on == nil || j.yield.By != "" || by.on != nil || by == j:
		return poise.Conflict, false
	}
	y := &j.yield
	y.By, y.Until, y.Last, y.Own = b.By, b.Until, b.By, j.Tenant == by.Tenant
	by.yield.Took = append(slices.Clone(by.yield.Took), b.Job)
	return 0, true
}

func (m *model) spare(b *poise.JobSpared) (kind poise.Kind, ok bool) {
	j := m.jobs[b.Job]
	if j == nil {
		return poise.NotFound, false
	}
	y := &j.yield
	if y.By == "" {
		return poise.Conflict, false
	}
	if by := m.jobs[y.By]; by != nil {
		by.yield.Took = without(by.yield.Took, b.Job)
	}
	y.By, y.Until, y.Rests = "", 0, b.Until
	y.Spared++
	if g := m.gangOf(j); g != nil {
		g.started = true
	}
	return 0, true
}

// claims says whether others made room for the job of a reservation.
func (m *model) claims(r modelReservation) bool { return len(m.jobs[r.job].yield.Took) > 0 }

func (m *model) reserve(b *poise.ReservationMade) (kind poise.Kind, ok bool) {
	if len(b.Nodes) == 0 || b.Start < 0 {
		return poise.Invalid, false
	}
	j := m.jobs[b.Job]
	if j == nil {
		return poise.NotFound, false
	}
	tasks := 1
	r := modelReservation{job: b.Job, nodes: b.Nodes, start: b.Start}
	if !m.alone(j) {
		r.gang, tasks = j.Gang.ID, len(m.members(j))
	}
	if j.on != nil || len(j.After) > 0 || j.Held != "" || len(b.Nodes) > tasks {
		return poise.Conflict, false
	}
	for _, n := range b.Nodes {
		if m.nodes[n] == nil {
			return poise.NotFound, false
		}
	}
	at := slices.IndexFunc(m.reserved, func(o modelReservation) bool { return o.job == b.Job })
	switch {
	case m.claims(r): // after those that others made room for, before the others
		if at >= 0 {
			m.reserved = slices.Delete(m.reserved, at, at+1)
		}
		front := 0
		for front < len(m.reserved) && m.claims(m.reserved[front]) {
			front++
		}
		m.reserved = slices.Insert(m.reserved, front, r)
	case at >= 0:
		m.reserved[at] = r
	default:
		m.reserved = append(m.reserved, r)
	}
	return 0, true
}

// unreserve gives up what is kept for a job, and for its gang.
func (m *model) unreserve(j *modelJob) {
	m.reserved = slices.DeleteFunc(m.reserved, func(r modelReservation) bool {
		return r.job == j.ID || r.gang != "" && j.Gang != nil && j.Gang.ID == r.gang && m.jobs[r.job].Tenant == j.Tenant
	})
}

func (m *model) reservations() string {
	var text string
	for _, r := range m.reserved {
		text += fmt.Sprintf("%s gang %q on %v from %d\n", r.job, r.gang, r.nodes, r.start)
	}
	return text
}

func (r *Reservation) modelText() string {
	var nodes []string
	for _, h := range r.Holds {
		nodes = append(nodes, h.Node)
	}
	return fmt.Sprintf("%s gang %q on %v from %d\n", r.Job, r.gang, nodes, r.Start)
}

// group says what there is to know of a job's gang.
func (m *model) group(j *modelJob) string {
	g := m.gangOf(j)
	if g == nil {
		return "no gang"
	}
	var members []poise.JobID
	running := 0
	for _, o := range m.members(j) {
		members = append(members, o.ID)
		if o.on != nil {
			running++
		}
	}
	return fmt.Sprintf("gang %s: %v, %d run, started %v, ready %v", g.spec.ID, members, running, g.started, m.gangReady(j))
}

func (g *Gang) modelText() string {
	if g == nil {
		return "no gang"
	}
	var members []poise.JobID
	for _, o := range g.Members() {
		members = append(members, o.ID)
	}
	return fmt.Sprintf("gang %s: %v, %d run, started %v, ready %v", g.Spec.ID, members, len(g.Running()), g.Started, g.Ready())
}
