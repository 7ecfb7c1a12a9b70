//go:build linux

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Exit codes of a command that could not be started, as shells give them.
const (
	cannotRun = 126
	notFound  = 127
)

// task is the shim's one task.
type task struct {
	dir   string
	spec  spec
	claim claim
	boot  string
	alive *os.File
	asked <-chan os.Signal

	log    *logWriter
	output sync.WaitGroup
	pipes  []*os.File // the shim's ends

	pid    int                     // of the command, and of its group
	ending chan struct{}           // the command has ended and is not taken away yet
	status chan syscall.WaitStatus // how the command ended
	gone   chan struct{}           // closed when no process is left

	why     string      // why the task is being ended, "" = it is not
	request int64       // number of the last request to end it
	kill    *time.Timer // when it is killed, nil = not set
	killAt  time.Time
}

// run runs the task to its end and gives how it ended, without times of its own
// but the start.
func (t *task) run() engine.Status {
	b := &t.spec.Binding
	if e := t.evicted(); e != nil {
		return engine.Status{State: engine.Failed, ExitCode: 128 + int32(syscall.SIGTERM), Signal: "SIGTERM", Detail: "evicted before it started"}
	}
	t.log = &logWriter{dir: t.dir, part: t.spec.LogLimit / logFiles, now: time.Now}
	code, err := t.start()
	if err != nil {
		t.closeOutput()
		closeGroup(t.spec.Cgroup)
		return engine.Status{State: engine.Failed, ExitCode: code, Detail: err.Error()}
	}
	var limit <-chan time.Time
	if b.RunTime > 0 {
		timer := time.NewTimer(span(b.RunTime))
		defer timer.Stop()
		limit = timer.C
	}
	ws := t.supervise(limit)
	status := exitStatus(ws)
	status.Started = t.claim.Started
	status.Detail = t.finish()
	if t.why != "" {
		status.State = engine.Failed
	}
	return status
}

// start starts the command. An error completes the sentence of why it did not,
// with the exit code to give.
func (t *task) start() (int32, error) {
	b := &t.spec.Binding
	env := environ(b, t.dir)
	dir := taskDir(b, t.dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return cannotRun, fmt.Errorf("dir: %s, expected a folder that the daemon's user may enter", dir)
	}
	program, err := findProgram(b.Command[0], env)
	if err != nil {
		return notFound, fmt.Errorf("command: %s: not found in PATH", b.Command[0])
	}
	var group *os.File
	if t.spec.Cgroup != "" {
		group, err = openGroup(t.spec.Cgroup, limits(b.Amounts, t.spec.CPU, t.spec.Memory))
		if err != nil {
			return cannotRun, fmt.Errorf("cgroup: %w", err)
		}
		defer group.Close()
	}
	files, err := t.openOutput()
	defer func() {
		for _, f := range files {
			_ = f.Close() // the command has its own copies
		}
	}()
	if err != nil {
		return cannotRun, err
	}
	pid, err := spawn(program, b.Command, env, dir, files, group, t.spec.UID)
	if errors.Is(err, fs.ErrNotExist) {
		return notFound, fmt.Errorf("command: %s: not found", b.Command[0])
	}
	if err != nil {
		return cannotRun, fmt.Errorf("command: %s: %w", b.Command[0], err)
	}
	t.pid = pid
	t.ending, t.status, t.gone = make(chan struct{}), make(chan syscall.WaitStatus, 1), make(chan struct{})
	if p, err := look(pid, t.boot); err == nil {
		t.claim.Task = p.ident
	}
	t.claim.Started = present()
	go t.collect()
	// Who the task is matters no longer than the machine is up, so this need not
	// be on the disk. Where it fails, the first claim and the mark still serve.
	if err := write(t.dir, claimFile, &t.claim, false, false); err != nil {
		fmt.Fprintln(os.Stderr, "task-shim: claim:", err)
	}
	_, _ = t.alive.Write([]byte{'r'}) // a daemon that is not there reads the claim later
	return 0, nil
}

// findProgram looks for a command as its shell would: by the task's PATH, or,
// with a slash in the name, from the task's folder on, which spawn does.
func findProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, v := range env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				continue
			}
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// openOutput makes the pipes that the task writes to and gives the files that
// it starts with.
func (t *task) openOutput() ([]*os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	files := []*os.File{null}
	for _, s := range []Stream{Stdout, Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return files, err
		}
		files = append(files, w)
		t.pipes = append(t.pipes, r)
		t.output.Add(1)
		go t.copy(s, r)
	}
	return files, nil
}

func (t *task) copy(s Stream, from *os.File) {
	defer t.output.Done()
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			t.log.write(s, chunk[:n])
		}
		if err != nil {
			return
		}
	}
}

// collect takes every ended process of the task away, tells how the command
// ended, and when none is left. Signals to the command's group are over before
// the command is taken away: up to then its number can mean nothing else.
func (t *task) collect() {
	defer close(t.gone)
	for {
		pid, err := peekExit()
		if err != nil {
			return // ECHILD: no children, so no descendants either
		}
		if pid == t.pid {
			t.ending <- struct{}{}
			killCgroup(t.spec.Cgroup)
			killGroup(pid, syscall.SIGKILL)
		}
		ws, err := reap(pid)
		if err == nil && pid == t.pid {
			t.status <- ws
		}
	}
}

// supervise waits for the command's end, and brings it about where asked to or
// when its time is over.
func (t *task) supervise(limit <-chan time.Time) syscall.WaitStatus {
	for {
		var kill <-chan time.Time
		if t.kill != nil {
			kill = t.kill.C
		}
		select {
		case <-t.ending:
			return <-t.status
		case <-limit:
			t.stop(fmt.Sprintf("run_time: over the limit of %s", span(t.spec.Binding.RunTime)), t.spec.Binding.Grace)
		case <-t.asked:
			e := t.evicted()
			if e == nil {
				// Not the daemon: the machine goes down, or a person wants it so.
				t.stop("the shim was told to end", t.spec.Binding.Grace)
			} else if e.Number != t.request {
				t.request = e.Number
				t.stop("evicted", e.Grace)
			}
		case <-kill:
			t.killAll()
		}
	}
}

// evicted gives the request to end the task, nil if there is none. One that
// cannot be read is one without grace.
func (t *task) evicted() *evict {
	var e evict
	found, err := read(t.dir, evictFile, &e)
	if !found {
		return nil
	}
	if err != nil {
		return &evict{Number: -1}
	}
	return &e
}

// stop asks the task's group to end, and sets when it is killed; a later
// request can only bring that forward.
func (t *task) stop(why string, grace poise.Span) {
	if t.why == "" {
		t.why = why
	}
	at := time.Now().Add(span(grace))
	if t.kill != nil && !at.Before(t.killAt) {
		return
	}
	if t.kill != nil {
		t.kill.Stop()
	}
	t.killAt, t.kill = at, time.NewTimer(span(grace))
	if grace > 0 {
		killGroup(t.pid, syscall.SIGTERM)
		killGroup(t.pid, syscall.SIGCONT) // a stopped process does not see TERM
	}
}

// killAll kills every process of the task, those too that left its group.
func (t *task) killAll() {
	killCgroup(t.spec.Cgroup)
	all, err := processes(t.boot)
	if err != nil {
		return
	}
	for _, p := range descendants(all, os.Getpid()) {
		_, _ = send(p.ident, syscall.SIGKILL) // who is gone already is as good
	}
}

// finish kills what the command left behind, takes the last of the output, and
// gives the detail of the status.
func (t *task) finish() string {
	var details []string
	if t.why != "" {
		details = append(details, t.why)
	}
	if t.spec.Cgroup != "" && t.spec.Memory && outOfMemory(t.spec.Cgroup) {
		bytes, _ := t.spec.Binding.Amounts.Find("memory")
		details = append(details, fmt.Sprintf("memory: over the limit of %s, killed by the kernel", resource.Format("memory", bytes)))
	}
	if !t.killRest() {
		details = append(details, "some of its processes do not end")
	}
	if err := t.closeOutput(); err != nil {
		details = append(details, err.Error())
	}
	closeGroup(t.spec.Cgroup)
	return strings.Join(details, "; ")
}

// killRest kills until no process is left, or gives up.
func (t *task) killRest() bool {
	deadline := time.After(sweepTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-t.gone:
			return true
		case <-deadline:
			return false
		case <-time.After(pause):
			t.killAll()
		}
	}
}

// closeOutput waits until all output is taken. It ends with the processes that
// can write it; where some do not end, what comes later is dropped.
func (t *task) closeOutput() error {
	done := make(chan struct{})
	go func() { t.output.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
		for _, r := range t.pipes {
			_ = r.SetReadDeadline(time.Now()) // a pipe takes one
		}
		<-done
	}
	t.log.close()
	return t.log.err
}

func span(s poise.Span) time.Duration { return time.Duration(s) * time.Millisecond }
