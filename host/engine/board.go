package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Board holds the last status of every known placement and tells the watchers
// of every change. The zero Board is empty and ready. An end is final: what is
// posted after it is ignored.
type Board struct {
	mu       sync.Mutex
	known    map[string]Status
	watchers []*watcher
}

// watcher is one call of Watch: what it has not been told yet, under the
// board's lock, and a wake-up.
type watcher struct {
	untold []Status
	wake   chan struct{}
}

// Post makes s the status of its placement, and says whether it was a change.
func (b *Board) Post(s Status) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.known[s.Placement]; ok && (old == s || old.State.Ended() || old.State > s.State) {
		return false
	}
	if b.known == nil {
		b.known = map[string]Status{}
	}
	b.known[s.Placement] = s
	for _, w := range b.watchers {
		w.untold = append(w.untold, s)
		w.nudge()
	}
	return true
}

// Add posts a first status, or gives false where the placement is known.
func (b *Board) Add(s Status) bool {
	b.mu.Lock()
	_, ok := b.known[s.Placement]
	b.mu.Unlock()
	return !ok && b.Post(s)
}

// Get gives the status of a placement, and whether it is known.
func (b *Board) Get(placement string) (Status, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.known[placement]
	return s, ok
}

// Drop forgets a placement. Watchers are not told, but keep what was posted.
func (b *Board) Drop(placement string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, placement)
}

// Watch is Engine.Watch over the board.
func (b *Board) Watch(ctx context.Context, f func(Status)) error {
	w := &watcher{wake: make(chan struct{}, 1)}
	b.mu.Lock()
	for _, s := range b.known {
		w.untold = append(w.untold, s)
	}
	slices.SortFunc(w.untold, func(x, y Status) int { return strings.Compare(x.Placement, y.Placement) })
	b.watchers = append(b.watchers, w)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.watchers = slices.DeleteFunc(b.watchers, func(o *watcher) bool { return o == w })
		b.mu.Unlock()
	}()
	for {
		b.mu.Lock()
		news := w.untold
		w.untold = nil
		b.mu.Unlock()
		for _, s := range news {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f(s)
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		}
	}
}

func (w *watcher) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
