package queue

// ranked is an element of a heap. It keeps its own position there, so that it
// can be taken out or moved without a search.
type ranked[T any] interface {
	before(T) bool
	setPos(int)
}

// heap is a binary heap with the first element, by before, at position 0.
type heap[T ranked[T]] []T

func (h *heap[T]) push(e T) {
	*h = append(*h, e)
	h.up(len(*h) - 1)
}

// remove takes out the element at position i.
func (h *heap[T]) remove(i int) {
	old := *h
	last := len(old) - 1
	moved := old[last]
	var none T
	old[last] = none
	*h = old[:last]
	if i < last {
		old[i] = moved
		h.fix(i)
	}
}

// fix puts the element at position i, whose rank has changed, where it belongs.
func (h *heap[T]) fix(i int) {
	if h.up(i) == i {
		h.down(i)
	}
}

// up moves the element at position i towards the front and gives its position.
func (h heap[T]) up(i int) int {
	e := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		h[i].setPos(i)
		i = parent
	}
	h[i] = e
	e.setPos(i)
	return i
}

func (h heap[T]) down(i int) {
	e := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && h[right].before(h[child]) {
			child = right
		}
		if !h[child].before(e) {
			break
		}
		h[i] = h[child]
		h[i].setPos(i)
		i = child
	}
	h[i] = e
	e.setPos(i)
}
