//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// Engine runs tasks as processes of this machine.
type Engine struct {
	opt   Options
	boot  string
	facts Facts
	board engine.Board
	lock  *os.File
	root  bool // tasks may run as other users

	usersMu sync.Mutex // of the file of users

	mu      sync.Mutex
	closed  bool
	binding map[string]chan struct{} // closed when the Bind that is under way is done
	tasks   map[string]*attached     // those whose shim is followed, by placement
	kept    kept

	follow sync.WaitGroup
}

var _ engine.Engine = (*Engine)(nil)

// Folders of the engine's.
const (
	tasksDir = "tasks"
	newDir   = "new"   // task folders that are not complete
	endedDir = "ended" // what is left of forgotten tasks: their output
	lockFile = "lock"
)

// lockPatience is far more than starting a program takes, and less than people
// mind when they start a second daemon by mistake.
const lockPatience = 2 * time.Second

// New opens the engine of a folder and takes up the tasks that it finds there:
// those that run, those that ended meanwhile, and those that were bound and
// never started, which it starts.
func New(opt Options) (*Engine, error) {
	opt, err := opt.complete()
	if err != nil {
		return nil, err
	}
	const op = "open local engine"
	unavailable := func(err error) error { return &poise.Error{Kind: poise.Unavailable, Op: op, Err: err} }
	e := &Engine{opt: opt, root: os.Geteuid() == 0, binding: map[string]chan struct{}{}, tasks: map[string]*attached{}}
	if e.boot, err = bootID(); err != nil {
		return nil, unavailable(err)
	}
	for _, name := range []string{tasksDir, newDir, endedDir} {
		if err := os.MkdirAll(filepath.Join(opt.Dir, name), 0o700); err != nil {
			return nil, unavailable(err)
		}
	}
	var free bool
	// A daemon that was killed while it started a shim holds the lock until that
	// shim's program is loaded.
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if e.lock, free, err = lock(filepath.Join(opt.Dir, lockFile)); err != nil {
			return nil, unavailable(err)
		}
		if free || time.Since(began) > lockPatience {
			break
		}
	}
	if !free {
		return nil, &poise.Error{Kind: poise.Conflict, Op: op, Detail: fmt.Sprintf("dir: %s is in use by another daemon, expected one of its own", opt.Dir)}
	}
	e.facts = cgroups(opt.Cgroup, opt.Dir)
	if err := e.recover(); err != nil {
		_ = e.Close() // the first error is the one to tell
		return nil, unavailable(err)
	}
	return e, nil
}

// recover takes up what an earlier daemon left.
func (e *Engine) recover() error {
	if err := empty(filepath.Join(e.opt.Dir, newDir)); err != nil {
		return err
	}
	if err := e.kept.load(filepath.Join(e.opt.Dir, endedDir)); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(e.opt.Dir, tasksDir))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		placement, ok := placementOf(entry.Name())
		if !ok || !entry.IsDir() {
			continue
		}
		if err := e.attach(placement); err != nil {
			return fmt.Errorf("take up task %q: %w", placement, err)
		}
	}
	return nil
}

// Close lets go of the tasks, which run on, and of the folder.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	for _, t := range e.tasks {
		_ = t.alive.Close() // ends its follower
	}
	e.mu.Unlock()
	e.follow.Wait()
	if e.facts.Cgroup != "" {
		_ = os.Remove(e.facts.Cgroup) // stays while it has groups of tasks
	}
	return e.lock.Close()
}

// Facts say what this machine permits.
func (e *Engine) Facts() Facts { return e.facts }

// Watch implements engine.Engine.
func (e *Engine) Watch(ctx context.Context, f func(engine.Status)) error {
	return e.board.Watch(ctx, f)
}

// Bind implements engine.Engine.
func (e *Engine) Bind(ctx context.Context, b engine.Binding) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if len(b.Command) == 0 {
		return engine.NoCommand(b.Placement)
	}
	for {
		e.mu.Lock()
		other := e.binding[b.Placement]
		if other == nil {
			break
		}
		e.mu.Unlock()
		select {
		case <-other: // it may have failed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if _, known := e.board.Get(b.Placement); known || e.closed {
		closed := e.closed
		e.mu.Unlock()
		if closed {
			return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("bind %q", b.Placement), Detail: "engine: closed"}
		}
		return nil
	}
	e.follow.Add(1) // Close waits
	defer e.follow.Done()
	done := make(chan struct{})
	e.binding[b.Placement] = done
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.binding, b.Placement)
		close(done)
	}()
	uid, err := e.isolated(b.Tenant)
	if poise.KindOf(err) == poise.Denied {
		return err
	}
	if err == nil {
		err = e.bind(b, uid)
	}
	if err != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("bind %q", b.Placement), Err: err}
	}
	return nil
}

// bind makes a new task's folder and starts its shim. The folder is on the disk
// under its name before anything starts, so that no later daemon can take the
// task for one that never was.
func (e *Engine) bind(b engine.Binding, uid uint32) error {
	staged, err := e.stage(b, uid)
	if err != nil {
		return err
	}
	defer os.RemoveAll(staged)
	dir := e.taskFolder(b.Placement)
	if err := os.Rename(staged, dir); err != nil {
		return err
	}
	e.board.Post(engine.Status{Placement: b.Placement, State: engine.Starting})
	if err = syncDir(filepath.Dir(dir)); err == nil {
		err = e.launch(b.Placement)
	}
	if err != nil {
		// Nothing has started, so a later Bind may try again.
		if gone := os.Rename(dir, staged); gone == nil {
			e.board.Drop(b.Placement)
		}
	}
	return err
}

// stage makes a complete folder for a task, under a name of its own.
func (e *Engine) stage(b engine.Binding, uid uint32) (string, error) {
	dir, err := os.MkdirTemp(filepath.Join(e.opt.Dir, newDir), "")
	if err != nil {
		return "", err
	}
	s := spec{Format: format, Binding: b, LogLimit: e.opt.LogLimit, CPU: e.facts.CPU, Memory: e.facts.Memory, UID: uid}
	if e.facts.Cgroup != "" {
		s.Cgroup = filepath.Join(e.facts.Cgroup, folderName(b.Placement))
	}
	err = makeFifo(filepath.Join(dir, aliveFifo))
	for _, name := range []string{workDir, tmpDir} {
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, name), 0o700)
		}
	}
	if err == nil && uid != 0 {
		err = own(dir, uid)
	}
	if err == nil {
		err = write(dir, specFile, &s, true, true)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // the first error is the one to tell
		return "", err
	}
	return dir, nil
}

// Evict implements engine.Engine. The request is on disk before the shim is
// told, so whoever comes first, the shim or the request, finds the other.
func (e *Engine) Evict(_ context.Context, placement string, grace poise.Span) error {
	e.mu.Lock() // for the number of the request
	defer e.mu.Unlock()
	s, known := e.board.Get(placement)
	if !known {
		return engine.Unknown("evict", placement)
	}
	if s.State.Ended() {
		return nil
	}
	dir := e.taskFolder(placement)
	var last evict
	_, _ = read(dir, evictFile, &last) // unreadable is as good as none: it is replaced
	if err := write(dir, evictFile, &evict{format, last.Number + 1, max(0, grace)}, false, false); err != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("evict %q", placement), Err: err}
	}
	return e.tell(placement)
}

// tell has the shim look at the request to end its task.
func (e *Engine) tell(placement string) error {
	var c claim
	found, err := read(e.taskFolder(placement), claimFile, &c)
	if !found {
		return nil // it will look before it starts anything
	}
	if err == nil {
		_, err = send(c.Shim, syscall.SIGTERM) // a shim that is gone is its follower's matter
	}
	if err != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("evict %q", placement), Err: err}
	}
	return nil
}

// Forget implements engine.Engine. The task's output is kept for Logs.
func (e *Engine) Forget(_ context.Context, placement string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, known := e.board.Get(placement)
	if !known {
		return nil
	}
	if !s.State.Ended() {
		return engine.StillRuns(placement)
	}
	if err := e.retire(placement); err != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("forget %q", placement), Err: err}
	}
	e.board.Drop(placement)
	return nil
}

func (e *Engine) taskFolder(placement string) string {
	return filepath.Join(e.opt.Dir, tasksDir, folderName(placement))
}

func (e *Engine) endedFolder(placement string) string {
	return filepath.Join(e.opt.Dir, endedDir, folderName(placement))
}

// empty removes what is in a folder.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
