//go:build linux

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// RunShim is the shim: it runs the task whose folder is the one argument, and
// returns when the task's end is on disk. It gives the exit code of the
// process, which nobody looks at; what it prints goes to a file in the folder.
func RunShim(args []string) int {
	alive := inherited()
	if len(args) != 1 || alive == nil {
		fmt.Fprintln(os.Stderr, "task-shim: started by the daemon only")
		return 2
	}
	if err := runShim(args[0], alive); err != nil {
		fmt.Fprintln(os.Stderr, "task-shim:", err)
		return 1
	}
	runtime.KeepAlive(alive) // open to the end: its closing is the shim's death
	return 0
}

func runShim(dir string, alive *os.File) error {
	// The kernel kills the task when the thread that started it ends.
	runtime.LockOSThread()
	// From here on a request to end the task is not missed: whoever makes one
	// writes evict.json first and then looks for a claim to signal, and the shim
	// claims first and then looks for evict.json.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	// Not signal.Ignore: the task would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)

	var s spec
	if found, err := read(dir, specFile, &s); err != nil || !found {
		return fmt.Errorf("read spec: found %t: %w", found, err)
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	self, err := look(os.Getpid(), boot)
	if err != nil {
		return err
	}
	c := claim{Format: format, Shim: self.ident}
	if err := write(dir, claimFile, &c, true, true); err != nil {
		return fmt.Errorf("claim task: %w", err)
	}
	if err := adoptOrphans(); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	t := &task{dir: dir, spec: s, claim: c, boot: boot, alive: alive, asked: asked}
	status := t.run()
	status.Placement = s.Binding.Placement
	status.Ended = present()
	return report(dir, &end{format, status})
}

// report puts the end on disk. It goes on until it has, because the end must
// not get lost to a disk that is full for a while; a folder that is gone has
// nobody left to read it.
func report(dir string, e *end) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := write(dir, statusFile, e, false, true)
		if err == nil {
			return nil
		}
		fmt.Fprintln(os.Stderr, "task-shim: report end:", err)
		if _, gone := os.Stat(dir); errors.Is(gone, fs.ErrNotExist) {
			return err
		}
		time.Sleep(pause)
	}
}

// present is the present moment; the shim has no other clock than the machine's.
func present() poise.Time { return poise.Time(time.Now().UnixMilli()) }

// exitStatus tells how a process ended by itself.
func exitStatus(ws syscall.WaitStatus) engine.Status {
	switch {
	case ws.Signaled():
		return engine.Status{State: engine.Failed, ExitCode: 128 + int32(ws.Signal()), Signal: signalName(ws.Signal())}
	case ws.ExitStatus() == 0:
		return engine.Status{State: engine.Succeeded}
	default:
		return engine.Status{State: engine.Failed, ExitCode: int32(ws.ExitStatus())}
	}
}
