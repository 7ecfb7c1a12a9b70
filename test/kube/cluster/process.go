package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// pollEvery is the pause between two looks at whether a server is ready.
	pollEvery = 50 * time.Millisecond
	// stopIn is how long a server has to end by itself before it is killed.
	stopIn = 10 * time.Second
	// logTail is how much of a server's output an error quotes, in bytes.
	logTail = 2000
)

// process is one server: an executable, its arguments and a file for what it
// prints. It may be started again once it has ended.
type process struct {
	name string
	path string
	args []string
	log  string // appended to

	cmd  *exec.Cmd
	gone chan struct{} // closed once the process has ended; nil before the first start
}

// newProcess finds the executable; output goes to a file of its name in dir.
func newProcess(name, dir string, args ...string) (*process, error) {
	path, err := asset(name)
	if err != nil {
		return nil, err
	}
	return &process{name: name, path: path, args: args, log: filepath.Join(dir, name+".log")}, nil
}

// start starts it. The kernel kills it when this process ends without having
// stopped it.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = filepath.Dir(p.log)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(gone)
	}()
	p.cmd, p.gone = cmd, gone
	return nil
}

// running says whether it was started and has not ended.
func (p *process) running() bool {
	if p == nil || p.gone == nil {
		return false
	}
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// signal sends it a signal; one that has ended is an error.
func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("send %s the signal %q: not running", p.name, s)
	}
	return p.cmd.Process.Signal(s)
}

// stop ends it, by force after a while, and returns once it is gone.
func (p *process) stop() {
	if !p.running() {
		return
	}
	// One that is paused would not see the other signal. Errors mean that it has
	// just ended.
	_ = p.signal(syscall.SIGCONT)
	_ = p.signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(stopIn):
		p.kill()
	}
}

// kill ends it by SIGKILL and returns once it is gone.
func (p *process) kill() {
	if !p.running() {
		return
	}
	_ = p.signal(syscall.SIGKILL)
	<-p.gone
}

// await asks until ready says nil, the process ends or ctx does. An error holds
// the last answer and the end of the process's output.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.gone:
			return fmt.Errorf("%s ended, it printed:\n%s", p.name, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w, it printed:\n%s", p.name, err, p.tail())
		case <-time.After(pollEvery):
		}
	}
}

// tail is the end of what it printed.
func (p *process) tail() []byte {
	all, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(all[max(0, len(all)-logTail):])
}
