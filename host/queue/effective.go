package queue

import "github.com/poise-sched/poise/host/poise"

// Effective is a job's place in the order, in its parts: priority and age first,
// larger before, then size, then arrival.
type Effective struct {
	Priority int32   // as it was given
	Age      float64 // in levels of priority: the time that it waits, in steps
	Level    float64 // both together
	Size     Size
	Arrival  uint64
}

// Effective gives what a waiting job's place in the order comes from at a time. The
// queue compares the exact keys that these stand for.
func (s *Settings) Effective(item *Item, now poise.Time) Effective {
	age := float64(max(now-item.Submitted, 0)) / float64(s.Step)
	return Effective{Priority: item.Priority, Age: age, Level: float64(item.Priority) + age, Size: item.Size, Arrival: item.Seq}
}
