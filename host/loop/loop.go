package loop

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

// Settings of a Loop.
type Settings struct {
	Queue  queue.Settings
	Params balance.Params
	// LaneOf names the lane that plans a tenant's jobs. It must name one that
	// Open has opened.
	LaneOf func(tenant poise.TenantID) string
	// Seen, where it is not nil, are the demand counts that profiles are built from
	// in place of those of the jobs that have arrived, and Kinds those that policy
	// plugins see: of a workload that is known beforehand.
	Seen, Kinds []state.Seen
	// Preempt says whose tasks end for others, nil = nobody's ever.
	Preempt *preempt.Settings
	// Reservations is for how many blocked jobs nodes are kept at a time, 0 to
	// poise.MaxReservations, and Patience how long such a job has to have waited.
	Reservations int
	Patience     poise.Span
}

// Loop belongs to one goroutine. Only Work.Plan may run on another.
type Loop struct {
	settings Settings
	state    *state.State
	lanes    map[string]*lane
	lists    map[poise.TenantID]*list
	ready    []candidate // scratch of gather
	round    round
	shapes   shapes
	planned  map[poise.JobID]bool // by a lane now, so they are in no queue
	profiled bool                 // a lane goes by the demand profile
	model    *model.Model

	deadlines deadlines
	hungry    hungry
	reserved  reserved
}

// lane is a policy at work. Away means that it plans on another goroutine, on a
// snapshot; else it plans while the loop waits, on the live view.
type lane struct {
	name     string
	pipeline *sched.Pipeline
	away     bool
	work     *Work        // what it plans now
	rest     poise.Time   // nothing is planned before; see rests
	until    bool         // rest is set
	index    *model.Index // to be used once the lane is free
}

// list is what waits of one tenant, numbered for the lane that plans it.
type list struct {
	tenant poise.TenantID
	queue  *queue.Queue
	lane   *lane
}

// longestRest bounds a rest: one that is longer shows that the clock was set
// back.
const longestRest = poise.Time(60_000)

// rests says whether the lane plans nothing now because it was told to.
func (l *lane) rests(now poise.Time) bool {
	l.until = l.until && now < l.rest && l.rest-now <= longestRest
	return l.until
}

// New makes a loop over a state. Jobs that wait are queued by Fill.
func New(s *state.State, settings Settings) (*Loop, error) {
	if err := settings.Queue.Validate(); err != nil {
		return nil, err
	}
	return &Loop{
		settings: settings, state: s, lanes: map[string]*lane{}, lists: map[poise.TenantID]*list{}, shapes: newShapes(), planned: map[poise.JobID]bool{},
		deadlines: deadlines{of: map[poise.JobID]*deadline{}}, hungry: hungry{of: map[poise.JobID]*hunger{}}, reserved: newReserved(),
	}, nil
}

// State is the state that the loop drives. Events reach it through Apply.
func (l *Loop) State() *state.State { return l.state }

// Settings are what the loop was made with, and UseParams has changed since.
func (l *Loop) Settings() Settings { return l.settings }

// Queued gives what waits, tenant by tenant, in order in each.
func (l *Loop) Queued() []queue.Item {
	var all []queue.Item
	for _, id := range slices.Sorted(maps.Keys(l.lists)) {
		all = slices.AppendSeq(all, l.lists[id].queue.All())
	}
	return all
}

// Open opens a lane, or gives it another policy: what it plans now is dropped
// when it is settled, and planned again. Settings.LaneOf must name the lane
// already for the tenants whose jobs it is to plan from now on.
func (l *Loop) Open(name string, p sched.Policy, away bool) {
	opened := &lane{name: name, pipeline: sched.NewPipeline(p), away: away}
	if l.model != nil {
		opened.pipeline.UseIndex(model.NewClassIndex(l.model))
	}
	l.lanes[name] = opened
	l.changed()
}

// Close closes a lane; Settings.LaneOf must not name it any more.
func (l *Loop) Close(name string) {
	delete(l.lanes, name)
	l.changed()
}

// changed gives the tenants that have another lane now a new queue: which of
// their jobs are interchangeable depends on the policy.
func (l *Loop) changed() {
	l.profiled, l.round.valid = false, false
	for _, each := range l.lanes {
		l.profiled = l.profiled || each.pipeline.Policy().WantsProfile
	}
	for id, old := range l.lists {
		if l.lanes[l.settings.LaneOf(id)] != old.lane {
			l.relist(old)
		}
	}
}

// relist gives a tenant a new queue with the jobs of the old one.
func (l *Loop) relist(old *list) {
	l.round.valid = false
	delete(l.lists, old.tenant)
	for item := range old.queue.All() {
		j := l.state.Job(item.Job)
		l.shapes.forget(j)
		if err := l.push(j); err != nil {
			panic(fmt.Sprintf("BUG: a job that waited is refused: %v", err))
		}
	}
}

// Rest has a lane plan nothing before a time, which is at most a minute away.
func (l *Loop) Rest(name string, until poise.Time) {
	if lane := l.lanes[name]; lane != nil {
		lane.rest, lane.until = until, true
		l.round.valid = false
	}
}

// NextWake is the earliest time to come at which a job may be tried that may not
// be now, for a caller whose last Next had none, or at which a job is over, even
// where that time has come.
func (l *Loop) NextWake(now poise.Time) (at poise.Time, ok bool) {
	return l.next(now, (*queue.Queue).NextWake)
}

// NextDue is NextWake without the sweeps of the queue, for a caller who has told
// the loop everything: nothing changes by a sweep then.
func (l *Loop) NextDue(now poise.Time) (at poise.Time, ok bool) {
	return l.next(now, (*queue.Queue).NextDue)
}

// next is the earliest time to come that due gives for a tenant's queue.
func (l *Loop) next(now poise.Time, due func(*queue.Queue) (poise.Time, bool)) (at poise.Time, ok bool) {
	for _, each := range l.lists {
		if each.lane.work != nil {
			continue // it is settled first
		}
		due, waits := due(each.queue)
		if each.lane.rests(now) {
			if _, ready := each.queue.Peek(now); ready || due < each.lane.rest {
				due, waits = each.lane.rest, ready || waits
			}
		}
		if waits && due > now && (!ok || due < at) {
			at, ok = due, true
		}
	}
	if due, waits := l.nextReserved(now); waits && (!ok || due < at) {
		at, ok = due, true
	}
	if order := l.deadlines.order; len(order) > 0 && (!ok || order[0].due < at) {
		at, ok = order[0].due, true
	}
	if due, waits := l.nextSearch(); waits && (!ok || due < at) {
		at, ok = due, true
	}
	return at, ok
}

// UseModel makes the lanes leave out what the classes show to be hopeless: those
// that plan now, once they are done.
func (l *Loop) UseModel(m *model.Model) {
	l.model = m
	for _, each := range l.lanes {
		if each.index = model.NewClassIndex(m); each.work == nil {
			each.useIndex()
		}
	}
}

func (l *lane) useIndex() {
	if l.index != nil {
		l.pipeline.UseIndex(l.index)
		l.index = nil
	}
}

// Fill queues every job that waits, and takes down when jobs are over, after the lanes were opened on a state that
// was read from records.
func (l *Loop) Fill() error {
	l.round.valid = false
	for _, j := range l.state.All() {
		l.deadlines.set(j.ID, j)
		if !j.Waiting() {
			continue
		}
		if err := l.push(j); err != nil {
			return err
		}
	}
	return nil
}

// Due gives the events that the loop makes of itself by now: a demand profile that
// submissions made due, and that tasks end for others. They are to be applied and
// recorded in this order, right after each submission, with it, and before Next.
func (l *Loop) Due(now poise.Time) []poise.Body {
	return append(l.dueProfile(), l.displace(now)...)
}

func (l *Loop) dueProfile() []poise.Body {
	view := l.state.View()
	var built uint64 // the arrivals that the one in force has seen
	if d := view.Demand(); d != nil {
		built = d.Arrivals
	}
	if !l.profiled || view.Arrivals() == built || !balance.Due(view, &l.settings.Params) {
		return nil
	}
	seen, kinds := l.settings.Seen, l.settings.Kinds
	if seen == nil {
		seen = l.state.Demand()
		kinds = seen
	}
	return []poise.Body{poise.ProfileBuilt{
		Profiles: balance.BuildProfiles(view, seen, &l.settings.Params), Demand: balance.BuildDemand(view, kinds),
	}}
}

// push queues a job, unless it comes after others or is held: then Apply does once
// they have ended, or it is released. Settle does for one that is planned now.
func (l *Loop) push(j *state.Job) error {
	if j.Blocked() || l.planned[j.ID] {
		return nil
	}
	if g := l.waitsWith(j); g != nil {
		return l.pushGang(g)
	}
	of, err := l.listOf(j)
	if err != nil {
		return err
	}
	if l.state.View().Reservation(j.ID) != nil {
		l.shapes.alone(j)
	}
	return of.add(queue.Item{
		Job: j.ID, Shape: l.shapes.id(j, of.lane, l.byPriority()), Priority: j.Priority, Submitted: j.Submitted,
		Size: queue.SizeOf(&j.Shape.Request), Seq: j.Seq, RunTime: j.RunTime,
		Last: j.Extra(),
	}, j, l.hold())
}

// byPriority says whether jobs of two priorities are not interchangeable: one may
// displace whom the other may not.
func (l *Loop) byPriority() bool { return l.settings.Preempt != nil && l.settings.Preempt.Priority }

// listOf gives what waits of a job's tenant.
func (l *Loop) listOf(j *state.Job) (*list, error) {
	if of := l.lists[j.Tenant]; of != nil {
		return of, nil
	}
	lane, err := l.laneOf(j)
	if err != nil {
		return nil, err
	}
	q, err := queue.New(l.settings.Queue)
	if err != nil {
		return nil, err
	}
	of := &list{tenant: j.Tenant, queue: q, lane: lane}
	l.lists[j.Tenant] = of
	return of, nil
}

// UseParams makes the profiles that come due go by these constants.
func (l *Loop) UseParams(p balance.Params) { l.settings.Params = p }

func (l *Loop) laneOf(j *state.Job) (*lane, error) {
	name := l.settings.LaneOf(j.Tenant)
	lane := l.lanes[name]
	if lane == nil {
		return nil, &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("plan job %q", j.ID), Detail: fmt.Sprintf("lane %q: not open", name)}
	}
	return lane, nil
}
