package state

import (
	"encoding/binary"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Shape is what filters and scorers may know of a job's request. Jobs of one
// shape are interchangeable for them, so their answers are kept per shape. A
// Shape is immutable and lives as long as a job uses it; its ID is never used
// again.
type Shape struct {
	ID          uint32
	Request     poise.Request
	Selectors   []poise.Selector
	Tolerations []poise.Toleration

	key  string
	refs int
}

// shapes holds one Shape per distinct request.
type shapes struct {
	byKey map[string]*Shape
	next  uint32
	buf   []byte
}

// acquire gives the shape of a job and counts one more user of it.
func (s *shapes) acquire(j *poise.Job) *Shape {
	s.buf = appendShapeKey(s.buf[:0], j)
	shape := s.byKey[string(s.buf)]
	if shape == nil {
		s.next++
		shape = &Shape{
			ID:          s.next,
			Request:     cloneRequest(&j.Request),
			Selectors:   slices.Clone(j.Selectors),
			Tolerations: slices.Clone(j.Tolerations),
			key:         string(s.buf),
		}
		s.byKey[shape.key] = shape
	}
	shape.refs++
	return shape
}

// release counts one user less and forgets a shape that nobody uses.
func (s *shapes) release(shape *Shape) {
	if shape.refs--; shape.refs == 0 {
		delete(s.byKey, shape.key)
	}
}

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
	b = binary.AppendUvarint(b, uint64(len(j.Selectors)))
	for i := range j.Selectors {
		b = appendString(b, j.Selectors[i].Key)
		b = appendString(b, string(j.Selectors[i].Op))
		b = appendStrings(b, j.Selectors[i].Values)
	}
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

func cloneRequest(r *poise.Request) poise.Request {
	c := *r
	c.Amounts = slices.Clone(r.Amounts)
	c.Device.Models = slices.Clone(r.Device.Models)
	return c
}
