package loop

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
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
}

// Loop belongs to one goroutine. Only Work.Plan may run on another.
type Loop struct {
	settings Settings
	state    *state.State
	lanes    map[string]*lane
	shapes   shapes
	profiled bool // a lane goes by the demand profile
	model    *model.Model
}

// lane is a policy at work and what waits for it. Away means that it plans on
// another goroutine, on a snapshot; else it plans while the loop waits, on the
// live view.
type lane struct {
	name     string
	pipeline *sched.Pipeline
	queue    *queue.Queue
	away     bool
	work     *Work        // what it plans now
	rest     poise.Time   // nothing is planned before; see rests
	until    bool         // rest is set
	index    *model.Index // to be used once the lane is free
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
	return &Loop{settings: settings, state: s, lanes: map[string]*lane{}, shapes: newShapes()}, nil
}

// State is the state that the loop drives. Events reach it through Apply.
func (l *Loop) State() *state.State { return l.state }

// Queued gives what waits, lane by lane, in order in each.
func (l *Loop) Queued() []queue.Item {
	var all []queue.Item
	for _, name := range slices.Sorted(maps.Keys(l.lanes)) {
		all = slices.AppendSeq(all, l.lanes[name].queue.All())
	}
	return all
}

// Open opens a lane, or gives it another policy: what it plans now is dropped
// when it is settled, and planned again. Settings.LaneOf must name the lane
// already: the waiting jobs that it names it for move there.
func (l *Loop) Open(name string, p sched.Policy, away bool) {
	q, err := queue.New(l.settings.Queue)
	if err != nil {
		panic(fmt.Sprintf("BUG: settings that were validated are refused: %v", err))
	}
	opened := &lane{name: name, pipeline: sched.NewPipeline(p), queue: q, away: away}
	if l.model != nil {
		opened.pipeline.UseIndex(model.NewClassIndex(l.model))
	}
	old := l.lanes[name]
	l.lanes[name] = opened
	l.changed(name, old)
}

// Close closes a lane; Settings.LaneOf must not name it any more.
func (l *Loop) Close(name string) {
	if old := l.lanes[name]; old != nil {
		delete(l.lanes, name)
		l.changed(name, old)
	}
}

// changed moves the jobs that have another lane now. Which of them are
// interchangeable depends on the policy, so they are numbered anew.
func (l *Loop) changed(name string, old *lane) {
	l.profiled = false
	for _, each := range l.lanes {
		l.profiled = l.profiled || each.pipeline.Policy().WantsProfile
	}
	for _, j := range l.state.Waiting() {
		was := old != nil && old.queue.Remove(j.ID)
		if !was && (l.settings.LaneOf(j.Tenant) != name || !l.remove(j.ID)) {
			continue // of another lane, or planned now, or not queued yet
		}
		l.shapes.forget(j.ID)
		if err := l.push(j); err != nil {
			panic(fmt.Sprintf("BUG: a job that waited is refused: %v", err))
		}
	}
}

// remove takes a job out of the queue that it is in.
func (l *Loop) remove(id poise.JobID) bool {
	for _, each := range l.lanes {
		if each.queue.Remove(id) {
			return true
		}
	}
	return false
}

// Rest has a lane plan nothing before a time, which is at most a minute away.
func (l *Loop) Rest(name string, until poise.Time) {
	if lane := l.lanes[name]; lane != nil {
		lane.rest, lane.until = until, true
	}
}

// NextWake is the earliest time to come at which a job may be tried that may not
// be now, for a caller whose last Next had none.
func (l *Loop) NextWake(now poise.Time) (at poise.Time, ok bool) {
	for _, each := range l.lanes {
		if each.work != nil {
			continue // it is settled first
		}
		due, waits := each.queue.NextWake()
		if each.rests(now) {
			if _, ready := each.queue.Peek(now); ready || due < each.rest {
				due, waits = each.rest, ready || waits
			}
		}
		if waits && due > now && (!ok || due < at) {
			at, ok = due, true
		}
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

// Fill queues every job that waits, after the lanes were opened on a state that
// was read from records.
func (l *Loop) Fill() error {
	for _, j := range l.state.Waiting() {
		if err := l.push(j); err != nil {
			return err
		}
	}
	return nil
}

// Due gives the profile that a submission made due, to be applied and recorded
// with it, or nil.
func (l *Loop) Due() poise.Body {
	view := l.state.View()
	if !l.profiled || !balance.Due(view, &l.settings.Params) {
		return nil
	}
	seen := l.state.Demand()
	return poise.ProfileBuilt{
		Profiles: balance.BuildProfiles(view, seen, &l.settings.Params), Demand: balance.BuildDemand(view, seen),
	}
}

func (l *Loop) push(j *state.Job) error {
	lane, err := l.laneOf(j)
	if err != nil {
		return err
	}
	return lane.queue.Push(queue.Item{
		Job: j.ID, Shape: l.shapes.id(j, lane), Priority: j.Priority, Submitted: j.Submitted, Size: queue.SizeOf(&j.Shape.Request), Seq: j.Seq,
	})
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
