package loop

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// shapes numbers, for the queue, the jobs that are interchangeable: of one state
// shape, planned in one lane, and of one key there. A number lives as long as a
// job of it does.
type shapes struct {
	ids  map[shapeKey]*shapeID
	jobs map[poise.JobID]*shapeID
	next queue.ShapeID
}

type shapeKey struct {
	shape uint32
	lane  string
	key   string
}

type shapeID struct {
	id   queue.ShapeID
	key  shapeKey
	jobs int
}

func newShapes() shapes {
	return shapes{ids: map[shapeKey]*shapeID{}, jobs: map[poise.JobID]*shapeID{}}
}

// id gives the number of a job, the same one until forget.
func (s *shapes) id(j *state.Job, l *lane) queue.ShapeID {
	if known := s.jobs[j.ID]; known != nil {
		return known.id
	}
	key := shapeKey{j.Shape.ID, l.name, l.pipeline.Key(j)}
	e := s.ids[key]
	if e == nil {
		s.next++
		e = &shapeID{id: s.next, key: key}
		s.ids[key] = e
	}
	e.jobs++
	s.jobs[j.ID] = e
	return e.id
}

func (s *shapes) forget(id poise.JobID) {
	e := s.jobs[id]
	if e == nil {
		return
	}
	delete(s.jobs, id)
	if e.jobs--; e.jobs == 0 {
		delete(s.ids, e.key)
	}
}
