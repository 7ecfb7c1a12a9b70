package queue

import (
	"cmp"

	"github.com/poise-sched/poise/host/poise"
)

// ShapeID names what filters and scorers may know of a job. Jobs of one shape
// must be interchangeable for them: if one cannot be placed on a snapshot, none
// can. So the shape covers the request, and all else that placing looks at.
type ShapeID uint32

// Item is a waiting job as the queue knows it. The caller keeps no state for a
// popped job beside it: handing the same Item back gives the job its old place.
type Item struct {
	Job       poise.JobID
	Shape     ShapeID
	Priority  int32      // larger is more urgent
	Submitted poise.Time // -MaxTime to MaxTime
	Size      Size       // the same for all waiting jobs of a shape
	Seq       uint64     // order of arrival, unique among waiting jobs
	RunTime   poise.Span // declared; 0 = not declared
	Last      bool       // goes after every job that is not
}

// MaxTime bounds the submit time of an Item on both sides. With a step of at
// most 24 h a priority weighs less than 2^58 ms, so no key can overflow.
const MaxTime poise.Time = 1 << 61

// behind is what the key of a job that goes last is less than it would be: more than
// two other keys differ by, less than what would overflow.
const behind = 5 << 60

// keyOf is the place of an item in the order.
func (s *Settings) keyOf(i *Item) int64 {
	if i.Last {
		return s.key(i.Priority, i.Submitted) - behind
	}
	return s.key(i.Priority, i.Submitted)
}

// last says whether a job with such a key goes last.
func last(key int64) bool { return key < -behind/2 }

// key is the place in the order that priority and age give a job, larger first:
// the moment of submission, moved one step earlier per level of priority, with
// the sign turned. All waiting jobs age at one pace, so the difference of two
// keys never changes and a key is computed once. Of two jobs p levels apart the
// one with the lower priority goes first if it came p steps earlier; that
// bounds how long any job can be overtaken.
func (s *Settings) key(priority int32, submitted poise.Time) int64 {
	return int64(priority)*int64(s.Step) - int64(submitted)
}

// submitted is the inverse of key for a known priority.
func (s *Settings) submitted(priority int32, key int64) poise.Time {
	return poise.Time(int64(priority)*int64(s.Step) - key)
}

// Size is how much of a node a task needs, for the order among jobs of equal
// key. The larger goes first: largest-first packs into at most 11/9 of the
// fewest possible bins and 6/9 of one, arrival order may need 17/10. Devices
// are compared first because they are the scarcest, then cpu, then memory. As
// it decides only where key is equal to the millisecond, it starves nobody.
type Size struct {
	Devices int64 // milli-devices in all
	CPU     int64 // milli-cores
	Memory  int64 // bytes
}

// Add adds another size; what is beyond an int64 stays there.
func (a *Size) Add(b *Size) {
	a.Devices, a.CPU, a.Memory = together(a.Devices, b.Devices), together(a.CPU, b.CPU), together(a.Memory, b.Memory)
}

// together adds amounts of 0 or more.
func together(a, b int64) int64 {
	if a > 1<<63-1-b {
		return 1<<63 - 1
	}
	return a + b
}

// SizeOf gives the size of a request.
func SizeOf(r *poise.Request) Size {
	cpu, _ := r.Amounts.Find("cpu")
	memory, _ := r.Amounts.Find("memory")
	return Size{Devices: r.Device.Total(), CPU: cpu, Memory: memory}
}

// compare is negative where a is the larger.
func (a *Size) compare(b *Size) int {
	if c := cmp.Compare(b.Devices, a.Devices); c != 0 {
		return c
	}
	if c := cmp.Compare(b.CPU, a.CPU); c != 0 {
		return c
	}
	return cmp.Compare(b.Memory, a.Memory)
}

// compare is negative where a goes before b: larger key, larger size, earlier
// arrival. The job's id comes last so that the order is total even where a
// caller gave one arrival number twice: only a job itself compares as 0.
func (a *job) compare(b *job) int {
	if c := cmp.Compare(b.key, a.key); c != 0 {
		return c
	}
	if c := a.group.size.compare(&b.group.size); c != 0 {
		return c
	}
	if c := cmp.Compare(a.seq, b.seq); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}
