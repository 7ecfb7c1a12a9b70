package loop

import (
	"fmt"

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
	queue    *queue.Queue
	lanes    map[string]*lane
	shapes   shapes
	profiled bool // a lane goes by the demand profile
}

// lane is a policy at work. Away means that it plans on another goroutine, on a
// snapshot; else it plans while the loop waits, on the live view.
type lane struct {
	name     string
	pipeline *sched.Pipeline
	away     bool
	busy     bool
	held     []queue.Item // popped while the lane was busy
}

// New makes a loop over a state. All jobs that wait are queued.
func New(s *state.State, settings Settings) (*Loop, error) {
	q, err := queue.New(settings.Queue)
	if err != nil {
		return nil, err
	}
	return &Loop{settings: settings, state: s, queue: q, lanes: map[string]*lane{}, shapes: newShapes()}, nil
}

// State is the state that the loop drives. Events reach it through Apply.
func (l *Loop) State() *state.State { return l.state }

// Queue gives what waits, for reading.
func (l *Loop) Queue() *queue.Queue { return l.queue }

// Open opens a lane, or gives it another policy: what it plans now is dropped
// when it is settled, and planned again.
func (l *Loop) Open(name string, p sched.Policy, away bool) {
	old := l.lanes[name]
	l.lanes[name] = &lane{name: name, pipeline: sched.NewPipeline(p), away: away}
	l.profiled = false
	for _, each := range l.lanes {
		l.profiled = l.profiled || each.pipeline.Policy().WantsProfile
	}
	if old != nil {
		l.lanes[name].held = old.held
		l.release(l.lanes[name])
		l.queue.Wake(^queue.Causes(0), l.state.View().Version()+1)
	}
}

// UseModel makes the lanes leave out what the classes show to be hopeless.
func (l *Loop) UseModel(m *model.Model) {
	for _, each := range l.lanes {
		each.pipeline.UseIndex(model.NewClassIndex(m))
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
	return l.queue.Push(queue.Item{
		Job: j.ID, Shape: l.shapes.id(j, lane), Priority: j.Priority, Submitted: j.Submitted, Size: queue.SizeOf(&j.Shape.Request), Seq: j.Seq,
	})
}

func (l *Loop) laneOf(j *state.Job) (*lane, error) {
	name := l.settings.LaneOf(j.Tenant)
	lane := l.lanes[name]
	if lane == nil {
		return nil, &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("plan job %q", j.ID), Detail: fmt.Sprintf("lane %q: not open", name)}
	}
	return lane, nil
}

// release gives the items that a lane held back to the queue, which orders them
// anew.
func (l *Loop) release(lane *lane) {
	for _, item := range lane.held {
		if j := l.state.Job(item.Job); j != nil && j.Waiting() {
			if err := l.queue.Push(item); err != nil {
				panic(fmt.Sprintf("BUG: an item that was popped is refused: %v", err))
			}
		}
	}
	lane.held = lane.held[:0]
}
