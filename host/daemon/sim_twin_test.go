package daemon

import (
	"context"
	"errors"
	"slices"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// twin is an engine that fails as the simulation has it.
type twin struct {
	*engine.Memory
	fails   func() (before, after bool) // whether a bind fails before or after it has its effect
	started func(engine.Binding)
	heard   map[string]engine.Status // what the loop was told
}

func (e *twin) Bind(ctx context.Context, b engine.Binding) error {
	before, after := e.fails()
	started := len(e.Ran())
	defer func() {
		if len(e.Ran()) > started {
			e.started(b)
		}
	}()
	if before {
		return &poise.Error{Kind: poise.Unavailable, Op: "bind", Detail: "no"}
	}
	err := e.Memory.Bind(ctx, b)
	if after && err == nil {
		return &poise.Error{Kind: poise.Unavailable, Op: "bind", Detail: "no answer"}
	}
	return err
}

// present is a context that ends a Watch once it has told the present.
type present struct{ context.Context }

func (present) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }
func (present) Err() error            { return nil }

// statuses gives what an engine knows, by placement.
func (e *twin) statuses() []engine.Status {
	var all []engine.Status
	_ = e.Watch(present{context.Background()}, func(s engine.Status) { all = append(all, s) }) // it ends without error
	return all
}

// news gives what the loop was not told yet.
func (e *twin) news() []engine.Status {
	return slices.DeleteFunc(e.statuses(), func(s engine.Status) bool {
		told, ok := e.heard[s.Placement]
		return ok && told == s
	})
}

// line does what the loop wants done when the simulation says.
type line struct {
	queues map[string][]func()
	order  []string
}

func (l *line) do(placement string, f func()) {
	if len(l.queues[placement]) == 0 {
		l.order = append(l.order, placement)
	}
	l.queues[placement] = append(l.queues[placement], f)
}

// step does the next thing of the i-th placement that has one.
func (l *line) step(i int) {
	p := l.order[i]
	f := l.queues[p][0]
	if l.queues[p] = l.queues[p][1:]; len(l.queues[p]) == 0 {
		delete(l.queues, p)
		l.order = slices.Delete(l.order, i, i+1)
	}
	f()
}

// whim is a policy plugin that fails when it likes.
type whim struct {
	name   string
	faulty bool
}

func (p *whim) Filters() bool                              { return true }
func (p *whim) Scores() bool                               { return true }
func (p *whim) Prepare(*state.Snapshot, *state.Job) uint64 { return 0 }
func (p *whim) Key(*state.Job) string                      { return "" }
func (p *whim) ReasonText(uint8) string                    { return "a whim" }
func (p *whim) Use() poise.PluginUse                       { return poise.PluginUse{Name: p.name} }

func (p *whim) Filter(_ *state.Batch, reasons []poise.Reason) error {
	clear(reasons)
	return p.fault()
}

func (p *whim) Score(_ *state.Batch, loss []float64, devices []uint32) error {
	clear(loss)
	clear(devices)
	return p.fault()
}

func (p *whim) fault() error {
	if p.faulty {
		return errors.New("a whim")
	}
	return nil
}
