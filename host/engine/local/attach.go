//go:build linux

package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/poise-sched/poise/host/engine"
)

// attached is a task that has not ended and whose shim the engine follows.
type attached struct {
	placement string
	dir       string
	alive     *os.File
	shim      *exec.Cmd // nil where an earlier daemon started it
	fresh     bool      // the shim was there when the engine began to follow
}

// attach takes up a task that an earlier daemon bound.
func (e *Engine) attach(placement string) error {
	t := &attached{placement: placement, dir: e.taskFolder(placement)}
	e.board.Post(engine.Status{Placement: placement, State: engine.Starting})
	var err error
	// Without the fifo, what the folder says still holds.
	if t.alive, t.fresh, err = openAlive(filepath.Join(t.dir, aliveFifo)); err != nil || !t.fresh {
		if err == nil {
			_ = t.alive.Close() // nothing is coming
		}
		e.settle(t)
		return nil
	}
	e.refresh(t)
	e.register(t)
	if _, err := os.Stat(filepath.Join(t.dir, evictFile)); err == nil {
		// The earlier daemon may have gone between request and signal. A shim that
		// knows the request does not mind.
		return e.tell(placement)
	}
	return nil
}

// launch starts the shim of a task whose folder is complete.
func (e *Engine) launch(placement string) (err error) {
	t := &attached{placement: placement, dir: e.taskFolder(placement), fresh: true}
	fifo := filepath.Join(t.dir, aliveFifo)
	if t.alive, _, err = openAlive(fifo); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = t.alive.Close() // the first error is the one to tell
		}
	}()
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer writer.Close()
	output, err := os.OpenFile(filepath.Join(t.dir, shimLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	t.shim = exec.Command(e.opt.Shim[0], append(e.opt.Shim[1:len(e.opt.Shim):len(e.opt.Shim)], t.dir)...)
	t.shim.Dir = "/"
	// Few threads and a small heap: there is one shim for each task.
	t.shim.Env = []string{"PATH=" + searchPath, "GOMAXPROCS=1", "GOGC=50"}
	t.shim.Stdout, t.shim.Stderr = output, output
	t.shim.ExtraFiles = []*os.File{writer}
	t.shim.SysProcAttr = detached()
	if err = t.shim.Start(); err != nil {
		return err
	}
	e.register(t)
	return nil
}

// register has a task's shim followed.
func (e *Engine) register(t *attached) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		t.letGo() // the next daemon takes it up
		return
	}
	e.tasks[t.placement] = t
	e.follow.Go(func() { e.followTask(t) })
}

// letGo leaves the shim to itself.
func (t *attached) letGo() {
	_ = t.alive.Close() // it was only read
	if t.shim != nil {
		_ = t.shim.Process.Release() // it lives on as nobody's child
	}
}

// followTask reads the task's fifo until the shim is gone or the engine is
// closed. A byte says that the claim is new.
func (e *Engine) followTask(t *attached) {
	var b [16]byte
	for {
		n, err := t.alive.Read(b[:])
		if errors.Is(err, os.ErrClosed) {
			t.letGo()
			return
		}
		if n == 0 {
			break
		}
		e.refresh(t)
	}
	if t.shim != nil {
		_ = t.shim.Wait() // its exit code says nothing that its files do not
	}
	e.mu.Lock()
	delete(e.tasks, t.placement)
	closed := e.closed
	e.mu.Unlock()
	_ = t.alive.Close() // it was only read
	if !closed {
		e.settle(t) // else the next daemon does
	}
}

// refresh posts what a task's claim says.
func (e *Engine) refresh(t *attached) {
	var c claim
	if found, err := read(t.dir, claimFile, &c); found && err == nil && c.Started != 0 {
		e.board.Post(engine.Status{Placement: t.placement, State: engine.Running, Started: c.Started})
	}
}

// settle posts how a task ended whose shim is gone. Without a report there is
// no telling, and the task is Lost, unless nobody ever claimed it: then it is
// started now.
func (e *Engine) settle(t *attached) {
	var done end
	found, err := read(t.dir, statusFile, &done)
	if found && err == nil {
		done.Placement = t.placement
		e.board.Post(done.Status)
		return
	}
	detail := "the shim ended without a report"
	if found {
		detail = "the shim's report cannot be read: " + err.Error()
	}
	var c claim
	claimed, err := read(t.dir, claimFile, &c)
	if claimed && err != nil {
		c = claim{}
	}
	switch {
	case !claimed && !found && t.shim == nil:
		err := e.launch(t.placement)
		if err == nil {
			return
		}
		detail = "start the shim: " + err.Error()
	case !claimed && !found:
		detail = "the shim ended before it took the task"
		if text, _ := os.ReadFile(filepath.Join(t.dir, shimLog)); len(text) > 0 {
			detail += ": " + strings.TrimSpace(string(text[:min(len(text), 500)]))
		}
	}
	if !e.clean(t, c) {
		detail += "; some of its processes do not end"
	}
	lost := engine.Status{Placement: t.placement, State: engine.Lost, Started: c.Started, Ended: e.opt.Now(), Detail: detail}
	// So that the next daemon says the same; where it cannot be kept, the next
	// daemon finds it out again.
	if err := write(t.dir, statusFile, &end{format, lost}, false, true); err != nil {
		lost.Detail = fmt.Sprintf("%s; keep that: %v", lost.Detail, err)
	}
	e.board.Post(lost)
}

// clean kills what is left of a task without shim.
func (e *Engine) clean(t *attached, c claim) bool {
	var s spec
	if found, err := read(t.dir, specFile, &s); found && err == nil {
		closeGroup(s.Cgroup)
	}
	if c.Shim.Boot != "" && c.Shim.Boot != e.boot {
		return true // the machine has started again since, so nothing is left
	}
	return sweep(t.dir, c, t.fresh)
}
