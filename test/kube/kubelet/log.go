package kubelet

import (
	"sort"
	"sync"
	"time"
)

// log is what the containers of one pod print. Readers may follow it.
type log struct {
	mu    sync.Mutex
	lines []line
	over  bool
	more  chan struct{} // closed and replaced when there is news
}

type line struct {
	at   time.Time
	text string
}

func newLog() *log { return &log{more: make(chan struct{})} }

// print adds lines.
func (l *log) print(now time.Time, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		l.lines = append(l.lines, line{now, text})
	}
	l.news()
}

// end says that nothing more will come.
func (l *log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.news()
}

// first is the index of the first line that was printed since then and is among
// the last tail lines; a negative tail is all.
func (l *log) first(since time.Time, tail int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.lines), func(i int) bool { return !l.lines[i].at.Before(since) })
	if tail >= 0 {
		i = max(i, len(l.lines)-tail)
	}
	return i
}

// news wakes whoever waits. The lock is held.
func (l *log) news() {
	close(l.more)
	l.more = make(chan struct{})
}

// from gives the lines from the i-th on, whether more may come, and what is
// closed then.
func (l *log) from(i int) (lines []line, over bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[i:], l.over, l.more
}
