package state

import (
	"encoding/binary"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// lingering is how many shapes that no job uses any more are kept, so that
// short jobs which come one after the other keep their Shape, and with it what
// is cached under its ID.
const lingering = 1024

// Shape is what filters and scorers may know of a job's request. Jobs of one
// shape are interchangeable for them, so their answers are kept per shape. A
// Shape is immutable and lives until no job has used it while more than 1,024
// others fell out of use; its ID is never used again.
type Shape struct {
	ID          uint32
	Request     poise.Request
	Selectors   []poise.Selector
	Tolerations []poise.Toleration
	// AnyOf, Prefer and Ports are of the job's Pod.
	AnyOf  []poise.Term
	Prefer []poise.Preference
	Ports  []poise.Port

	key  string
	refs int
	// Neighbours in the list of idle shapes.
	older, newer *Shape
}

// shapes holds one Shape per distinct request. The idle ones, which no job
// uses, form a list in the order in which they fell out of use.
type shapes struct {
	byKey          map[string]*Shape
	next           uint32
	buf            []byte
	oldest, newest *Shape
	idle           int
}

// acquire gives the shape of a job and counts one more user of it.
func (s *shapes) acquire(j *poise.Job) *Shape {
	s.buf = appendShapeKey(s.buf[:0], j)
	shape := s.byKey[string(s.buf)]
	switch {
	case shape == nil:
		s.next++
		shape = &Shape{
			ID:          s.next,
			Request:     cloneRequest(&j.Request),
			Selectors:   append([]poise.Selector(nil), j.Selectors...),
			Tolerations: append([]poise.Toleration(nil), j.Tolerations...),
			key:         string(s.buf),
		}
		if p := j.Pod; p != nil {
			shape.AnyOf, shape.Prefer, shape.Ports = p.AnyOf, p.Prefer, p.Ports
		}
		s.byKey[shape.key] = shape
	case shape.refs == 0:
		s.unlink(shape)
	}
	shape.refs++
	return shape
}

// release counts one user less. A shape without users becomes the newest of the
// idle ones, and the oldest is forgotten where there are too many.
func (s *shapes) release(shape *Shape) {
	if shape.refs--; shape.refs > 0 {
		return
	}
	if shape.older = s.newest; s.newest != nil {
		s.newest.newer = shape
	} else {
		s.oldest = shape
	}
	s.newest = shape
	if s.idle++; s.idle > lingering {
		delete(s.byKey, s.oldest.key)
		s.unlink(s.oldest)
	}
}

// unlink takes a shape out of the list of idle ones.
func (s *shapes) unlink(shape *Shape) {
	if shape.older != nil {
		shape.older.newer = shape.newer
	} else {
		s.oldest = shape.newer
	}
	if shape.newer != nil {
		shape.newer.older = shape.older
	} else {
		s.newest = shape.older
	}
	shape.older, shape.newer = nil, nil
	s.idle--
}

// used is the number of shapes that jobs use.
func (s *shapes) used() int { return len(s.byKey) - s.idle }

// appendShapeKey writes all that a Shape holds, each string with its length
// first, so that two requests have one key only if they are equal.
func appendShapeKey(b []byte, j *poise.Job) []byte {
	r := &j.Request
	b = binary.AppendUvarint(b, uint64(len(r.Amounts)))
	for i := range r.Amounts {
		b = appendString(b, r.Amounts[i].Name)
		b = binary.AppendVarint(b, r.Amounts[i].Value)
	}
	b = appendString(b, r.Device.Kind)
	b = binary.AppendVarint(b, int64(r.Device.Count))
	b = binary.AppendVarint(b, int64(r.Device.Milli))
	b = appendStrings(b, r.Device.Models)
	b = appendSelectors(b, j.Selectors)
	b = binary.AppendUvarint(b, uint64(len(j.Tolerations)))
	for i := range j.Tolerations {
		t := &j.Tolerations[i]
		b = appendString(b, t.Key)
		b = appendString(b, t.Value)
		b = appendString(b, string(t.Effect))
		if t.Exists {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	if j.Pod != nil {
		b = appendPodKey(b, j.Pod)
	}
	return b
}

// appendPodKey writes what a Shape holds of a pod, nothing where that is nothing.
func appendPodKey(b []byte, p *poise.Pod) []byte {
	if len(p.AnyOf)+len(p.Prefer)+len(p.Ports) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(p.AnyOf)))
	for _, t := range p.AnyOf {
		b = appendSelectors(b, t)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Prefer)))
	for i := range p.Prefer {
		b = binary.AppendVarint(b, int64(p.Prefer[i].Weight))
		b = appendSelectors(b, p.Prefer[i].Term)
	}
	for i := range p.Ports {
		b = appendString(b, p.Ports[i].Protocol)
		b = appendString(b, p.Ports[i].IP)
		b = binary.AppendVarint(b, int64(p.Ports[i].Number))
	}
	return b
}

func appendSelectors(b []byte, selectors []poise.Selector) []byte {
	b = binary.AppendUvarint(b, uint64(len(selectors)))
	for i := range selectors {
		b = appendString(b, selectors[i].Key)
		b = appendString(b, string(selectors[i].Op))
		b = appendStrings(b, selectors[i].Values)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendStrings(b []byte, values []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(values)))
	for _, v := range values {
		b = appendString(b, v)
	}
	return b
}

// cloneRequest copies a request. One that asks for nothing is written as such in one
// way, since jobs of both ways have one shape.
func cloneRequest(r *poise.Request) poise.Request {
	c := *r
	c.Amounts = append(resource.List(nil), r.Amounts...)
	c.Device.Models = append([]string(nil), r.Device.Models...)
	return c
}
