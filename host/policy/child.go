package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/poise-sched/poise/abi"
)

// order is the argument of the compile child.
type order struct {
	Settings settings
	Dir      string // of the code; "" = only see whether it compiles
}

const (
	// wallFactor is how much longer than its CPU time a compile may take on a
	// machine that does other work too.
	wallFactor = 3
	memoryPoll = 5 * time.Millisecond
	// childOutput is more than the longest outcome, childErrors enough to see
	// why a child crashed.
	childOutput = 4 * abi.MaxManifest
	childErrors = 4096
)

// Why a child was stopped.
const (
	stoppedNot int32 = iota
	stoppedByMemory
	stoppedByClock
)

// runChild compiles a module in a process of its own.
func runChild(ctx context.Context, command []string, bin []byte, s settings, dir string) (outcome, *Fault) {
	arg, err := json.Marshal(order{Settings: s, Dir: dir})
	if err != nil {
		return outcome{}, &Fault{Code: abi.CodeCompile, Err: err}
	}
	text, f := Confined(ctx, command, string(arg), bin, s.Limits)
	if f != nil {
		return outcome{}, f
	}
	var out outcome
	answer := json.NewDecoder(bytes.NewReader(text))
	answer.DisallowUnknownFields()
	if err := answer.Decode(&out); err != nil {
		return outcome{}, &Fault{Code: abi.CodeCompile, Detail: "answer of the compile child", Err: err}
	}
	return out, nil
}

// Confined runs a command of this program, to which one argument is added, on a
// module as its input and gives the beginning of its output. The process is
// killed when it takes more than the limits on compiling, if it has called
// LimitProcess. The kernel counts its CPU time. This process watches its resident
// memory where /proc shows it; elsewhere the child's own garbage collector holds
// it near the limit, and the clock ends what does not obey.
func Confined(ctx context.Context, command []string, arg string, bin []byte, l Limits) ([]byte, *Fault) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stdout, stderr := &head{most: childOutput}, &head{most: childErrors}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], arg)...)
	cmd.Env = []string{} // no secret of the daemon's comes near a compile bomb
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(bin), stdout, stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, &Fault{Code: abi.CodeCompile, Detail: "start of the compile child", Err: err}
	}
	var stopped atomic.Int32
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if why := watch(ctx, cmd.Process.Pid, l); why != stoppedNot {
			stopped.Store(why)
			cancel()
		}
	}()
	err := cmd.Wait()
	canceled := ctx.Err() != nil
	cancel()
	<-watched
	switch {
	case stopped.Load() == stoppedByMemory:
		return nil, tooLarge(l)
	case stopped.Load() == stoppedByClock:
		return nil, &Fault{Code: abi.CodeCompile, Detail: fmt.Sprintf("time: more than %v, expected at most %v of CPU", wallFactor*l.Compile, l.Compile)}
	case canceled:
		return nil, &Fault{Code: abi.CodeCompile, Detail: "canceled", Err: context.Canceled}
	case err != nil && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() < 0 && cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime() >= l.Compile/2:
		// What the kernel kills by are samples, and what it tells afterwards is measured:
		// on a busy machine whose processors are lent the two are far apart.
		return nil, &Fault{Code: abi.CodeCompile, Detail: fmt.Sprintf("time: more than %v of CPU, expected at most that", l.Compile)}
	case err != nil && bytes.Contains(stderr.kept, []byte("out of memory")):
		return nil, tooLarge(l)
	case err != nil:
		return nil, &Fault{Code: abi.CodeCompile, Detail: fmt.Sprintf("the compiler crashed: %q", stderr.firstLine()), Err: err}
	}
	return stdout.kept, nil
}

func tooLarge(l Limits) *Fault {
	return &Fault{Code: abi.CodeCompile, Detail: fmt.Sprintf("memory: more than %d bytes, expected at most that", l.CompileMemory)}
}

// watch waits until a child is to be stopped, or ctx ends.
func watch(ctx context.Context, pid int, l Limits) int32 {
	end := time.NewTimer(wallFactor * l.Compile)
	defer end.Stop()
	poll := time.NewTicker(memoryPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return stoppedNot
		case <-end.C:
			return stoppedByClock
		case <-poll.C:
			if resident(pid) > l.CompileMemory {
				return stoppedByMemory
			}
		}
	}
}

// head keeps the beginning of what is written to it.
type head struct {
	kept []byte
	most int
}

// Write never fails: the rest is dropped.
func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.most-len(h.kept))]...)
	return len(p), nil
}

func (h *head) firstLine() string {
	line, _, _ := bytes.Cut(h.kept, []byte{'\n'})
	return printable(string(line))
}

// RunCompileChild is what the hidden subcommand `poise plugin-compile` runs: it
// reads a module from stdin, compiles it, sets it up once and writes the outcome
// to stdout. args are the arguments behind the subcommand: one, made by the
// parent. The result is the exit code.
func RunCompileChild(stdin io.Reader, stdout io.Writer, args []string) int {
	var o order
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &o) != nil || o.Settings.Limits.validate() != nil {
		return 2
	}
	LimitProcess(o.Settings.Limits)
	bin, err := io.ReadAll(io.LimitReader(stdin, int64(o.Settings.Limits.Module.Bytes)+1))
	if err != nil {
		return 1
	}
	out := examine(context.Background(), bin, o.Settings, o.Dir)
	if err := json.NewEncoder(stdout).Encode(out); err != nil {
		return 1
	}
	return 0
}
