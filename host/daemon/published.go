package daemon

import (
	"sync"
	"sync/atomic"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/state"
)

// published is what readers see: the state as of the last turn, durable or on
// its way to be.
type published struct {
	snap    *state.Snapshot
	rowOf   map[string]uint32
	joins   uint64
	classes *model.Model
	index   uint64
}

// board hands the latest state and the news of durable events to readers.
type board struct {
	current atomic.Pointer[published]
	rests   rests

	mu   sync.Mutex
	news chan struct{} // closed at the next durable batch; guarded by mu
}

func newBoard() *board { return &board{news: make(chan struct{})} }

// wait gives a channel that is closed at the next durable batch.
func (b *board) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

// tell wakes those who wait for news.
func (b *board) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.news)
	b.news = make(chan struct{})
}

// publish shows the present state, if it has changed.
func (c *core) publish() {
	s := c.loop.State()
	old := c.board.current.Load()
	if old != nil && old.index == s.Index() && old.classes == c.classes {
		return
	}
	p := &published{snap: s.Snapshot(), classes: c.classes, index: s.Index()}
	if p.joins = p.snap.Joins(); old != nil && old.joins == p.joins && old.snap.Nodes() == p.snap.Nodes() {
		p.rowOf = old.rowOf
	} else {
		p.rowOf = make(map[string]uint32, p.snap.Nodes())
		for row := range uint32(p.snap.Rows()) {
			if p.snap.Present(row) {
				p.rowOf[p.snap.Name(row)] = row
			}
		}
	}
	c.board.current.Store(p)
}

// row finds a node.
func (p *published) row(name string) (uint32, error) {
	row, ok := p.rowOf[name]
	if !ok {
		return 0, noNode(name)
	}
	return row, nil
}
