package sim

import "time"

// entry is when a task ends.
type entry struct {
	at        time.Time
	order     int // of the bind
	placement string
}

// byTime is a heap of entries, the first to end on top.
type byTime []entry

func (h byTime) Len() int { return len(h) }

func (h byTime) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}

func (h byTime) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *byTime) Push(x any) { *h = append(*h, x.(entry)) }

// Pop implements heap.Interface.
func (h *byTime) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
