package daemon

import "sync"

// What engines are asked to do at one time is bounded: a slow one holds up no
// answer, and a thousand starts are no thousand processes that start at once. A
// cluster of Kubernetes has hands of its own: with 32 binds under way at once an
// API server took 919 pods a second, with 8 of them 670.
const (
	engineHands = 8
	kubeHands   = 32
)

// doer has things done: those of one placement in order, others beside them.
type doer interface {
	do(placement string, f func())
}

// hands are a few goroutines that come when there is work and go when there is
// none.
type hands struct {
	most int // goroutines at one time

	mu     sync.Mutex
	queues map[string][]func() // of each placement, the one under way included
	ready  []string            // placements whose first is not under way
	some   int                 // goroutines
	closed bool
	gone   sync.WaitGroup
}

var _ doer = (*hands)(nil)

func newHands(most int) *hands { return &hands{most: most, queues: map[string][]func(){}} }

func (h *hands) do(placement string, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	queue, known := h.queues[placement]
	h.queues[placement] = append(queue, f)
	if known {
		return
	}
	h.ready = append(h.ready, placement)
	if h.some < h.most {
		h.some++
		h.gone.Go(h.work)
	}
}

func (h *hands) work() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.ready) > 0 && !h.closed {
		placement := h.ready[0]
		h.ready = h.ready[1:]
		f := h.queues[placement][0]
		h.mu.Unlock()
		f()
		h.mu.Lock()
		if rest := h.queues[placement][1:]; len(rest) > 0 {
			h.queues[placement] = rest
			h.ready = append(h.ready, placement)
		} else {
			delete(h.queues, placement)
		}
	}
	h.some--
}

// close waits for what is under way; what was not begun is dropped.
func (h *hands) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.gone.Wait()
}
