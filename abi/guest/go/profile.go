package poise

import (
	"iter"
	"unsafe"
)

// Profile is what jobs have been asking for.
type Profile struct{ plugin *Plugin }

// Profile declares that the plugin wants the profile.
func (p *Plugin) Profile() Profile {
	p.wantsProfile = true
	return Profile{p}
}

// ProfileView is the profile of one call.
type ProfileView struct {
	c      *Call
	p      unsafe.Pointer
	shapes unsafe.Pointer
	n      int
	stride int
}

// Of gives the profile in force.
func (Profile) Of(c *Call) ProfileView {
	p := c.follow(c.table, tableProfile)
	return ProfileView{c, p, c.follow(p, 32), int(*c.word(p, 24)), int(*c.word(p, 28))}
}

// Epoch tells profiles apart: another number, other shapes.
func (v ProfileView) Epoch() uint64 { return *v.c.word64(v.p, 0) }

// Count is the number of jobs counted, those of shapes left out included.
func (v ProfileView) Count() float64 { return *v.c.double(v.p, 8) }

// Weight is the sum of the weights of the shapes.
func (v ProfileView) Weight() float64 { return *v.c.double(v.p, 16) }

// Len is the number of shapes; 0 until a job was seen.
func (v ProfileView) Len() int { return v.n }

// At gives the i-th shape, in the order of falling count.
func (v ProfileView) At(i int) Shape { return Shape{v.c, unsafe.Add(v.shapes, i*v.stride)} }

// All iterates over the shapes, in the order of falling count.
func (v ProfileView) All() iter.Seq[Shape] {
	return func(yield func(Shape) bool) {
		for i := range v.n {
			if !yield(v.At(i)) {
				return
			}
		}
	}
}

// Shape is one kind of task.
type Shape struct {
	c *Call
	p unsafe.Pointer
}

// Count is the number of jobs counted.
func (s Shape) Count() float64 { return *s.c.double(s.p, 0) }

// Weight is Count * (1 + devices asked for).
func (s Shape) Weight() float64 { return *s.c.double(s.p, 8) }

// Devices is what a task asks for of devices. Its kind is not told.
func (s Shape) Devices() Ask {
	return Ask{
		Count:  int(*s.c.word(s.p, 16)),
		Milli:  int(*s.c.word(s.p, 20)),
		Models: s.c.symbols(s.p, 24),
	}
}

// Request is what a task asks for of a dimension, in base units.
func (s Shape) Request(d Dim) float64 { return *s.c.double(s.p, 32+8*int(d)) }
