package loop

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// shapes numbers, for the queue, the jobs that are interchangeable: of one state
// shape, planned in one lane, and of one key there, and of one priority where a
// priority displaces. A number lives as long as a
// job of it does.
type shapes struct {
	ids  map[shapeKey]*shapeID
	jobs map[*state.Job]*shapeID // by the job itself, which costs less than by its id
	by   map[queue.ShapeID]*shapeID
	next queue.ShapeID
}

type shapeKey struct {
	shape uint32
	lane  string
	key   string
	gang  poise.JobID // for a gang that waits as a whole, and a member that has to be near others: its first member, or it
	extra bool
	// priority tells jobs apart that may displace others and not the same ones.
	priority int32
	alone    poise.JobID // for a job that has a reservation: it
	pod      uint32      // of the job's PodKind, 0 = it is no pod
	// tenant and labels are what rules of pods can tell of a job that becomes one, but
	// for which one it is.
	tenant poise.TenantID
	labels string
}

type shapeID struct {
	id   queue.ShapeID
	key  shapeKey
	jobs int
	ask  *state.Shape // of each of its jobs, nil for a gang and for a job that is alone
}

func newShapes() shapes {
	return shapes{ids: map[shapeKey]*shapeID{}, jobs: map[*state.Job]*shapeID{}, by: map[queue.ShapeID]*shapeID{}}
}

// id gives the number of a job, the same one until forget. By priority means that
// jobs of two priorities are not interchangeable.
func (s *shapes) id(j *state.Job, l *lane, byPriority bool) queue.ShapeID {
	if known := s.jobs[j]; known != nil {
		return known.id
	}
	key := shapeKey{shape: j.Shape.ID, lane: l.name, key: l.pipeline.Key(j), extra: j.Extra()}
	if j.Kind != nil {
		key.pod = j.Kind.ID
	}
	if j.BecomesPod() {
		key.tenant, key.labels = j.Tenant, fmt.Sprintf("%q", j.Labels)
	}
	if byPriority {
		key.priority = j.Priority
	}
	if j.Gang != nil && j.Gang.Topology != nil {
		key.gang = j.ID
	}
	return s.number(j, key)
}

// gang gives the number of a gang that waits as a whole, by its first member: no other
// is like it.
func (s *shapes) gang(head *state.Job, l *lane) queue.ShapeID {
	if known := s.jobs[head]; known != nil {
		return known.id
	}
	return s.number(head, shapeKey{lane: l.name, gang: head.ID})
}

func (s *shapes) number(j *state.Job, key shapeKey) queue.ShapeID {
	e := s.ids[key]
	if e == nil {
		s.next++
		e = &shapeID{id: s.next, key: key}
		if key.gang == "" && key.alone == "" {
			e.ask = j.Shape
		}
		s.ids[key], s.by[e.id] = e, e
	}
	e.jobs++
	s.jobs[j] = e
	return e.id
}

// alone gives the number of a job that no other is like.
func (s *shapes) alone(j *state.Job) queue.ShapeID {
	if known := s.jobs[j]; known != nil && known.key.alone != "" {
		return known.id
	}
	s.forget(j)
	return s.number(j, shapeKey{alone: j.ID})
}

func (s *shapes) isAlone(j *state.Job) bool {
	known := s.jobs[j]
	return known != nil && known.key.alone != ""
}

// together gives the number of a job that it has with others, whatever it had.
func (s *shapes) together(j *state.Job, l *lane, byPriority bool) queue.ShapeID {
	if s.isAlone(j) {
		s.forget(j)
	}
	return s.id(j, l, byPriority)
}

func (s *shapes) forget(j *state.Job) {
	e := s.jobs[j]
	if e == nil {
		return
	}
	delete(s.jobs, j)
	if e.jobs--; e.jobs == 0 {
		delete(s.ids, e.key)
		delete(s.by, e.id)
	}
}
