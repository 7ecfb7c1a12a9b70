//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/poise-sched/poise/host/api/client"
)

// unknown is the state of a task that was never started here.
const unknown client.JobState = ""

// grace is what a task has between TERM and KILL.
const grace = 10 * time.Second

// task is a task in a folder of its own. Its files say how far it came:
//
//	boot     which boot of the machine it was claimed in; there is no task without
//	lock     locked by the task's shell as long as that lives
//	pid      the shell's, which leads a process group
//	started  made by the shell, just before the command
//	exit     the command's exit code
//	term     why it was asked to end, made just before
//	killed   made just before it was killed
//	output   what it wrote
type task struct{ dir string }

// script is what the task's shell does. A TERM to the group must not end the shell
// before it has written down how the command ended; the command does not keep the
// lock.
const script = `trap : TERM
dir=$1; shift
echo $$ >"$dir/pid"
: >"$dir/started"
"$@" >>"$dir/output" 2>&1 3>&-
echo $? >"$dir/exit.new"
mv "$dir/exit.new" "$dir/exit"`

func (t task) file(name string) string { return filepath.Join(t.dir, name) }

func (t task) has(name string) bool {
	_, err := os.Stat(t.file(name))
	return err == nil
}

// claimed says whether the task was taken on here.
func (t task) claimed() bool { return t.has("boot") }

// claim takes the task on, durably.
func (t task) claim() error {
	if t.claimed() {
		return nil
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.file("work"), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(t.file("boot.new"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(boot)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(t.file("boot.new"), t.file("boot")); err != nil {
		return err
	}
	return errors.Join(syncDir(t.dir), syncDir(filepath.Dir(t.dir)))
}

// start starts the task's shell, which outlives the executor.
func (t task) start(a *client.Assignment) error {
	lock, free, err := lockFile(t.file("lock"))
	if err != nil {
		return err
	}
	defer lock.Close() // the shell has it too
	if !free {
		return nil // it runs
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "task", t.dir}, a.Command...)...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = t.file("work"), environ(a, t.dir), []*os.File{lock}
	if a.Dir != "" {
		cmd.Dir = a.Dir
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		// The folder that the job names may be missing: its own fault, and its end.
		return errors.Join(os.WriteFile(t.file("output"), []byte(err.Error()+"\n"), 0o600), os.WriteFile(t.file("exit"), []byte("126"), 0o600))
	}
	go func() { _ = cmd.Wait() }() // the exit file says how it ended
	return nil
}

// environ is the whole environment of a task.
func environ(a *client.Assignment, dir string) []string {
	devices := strings.Trim(fmt.Sprint(a.Devices), "[]")
	devices = strings.ReplaceAll(devices, " ", ",")
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(dir, "work"), "LANG=C.UTF-8", "CUDA_VISIBLE_DEVICES=" + devices, "POISE_DEVICES=" + devices,
		"POISE_JOB_ID=" + a.Job, "POISE_JOB_NAME=" + a.Name, "POISE_TENANT=" + a.Tenant, "POISE_NODE=" + a.Node, "POISE_PLACEMENT=" + a.Placement,
	}
	for name, value := range a.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// status is how far the task has come, as the daemon is told.
func (t task) status() (client.TaskReport, error) {
	if !t.claimed() {
		return client.TaskReport{State: unknown}, nil
	}
	lock, free, err := lockFile(t.file("lock"))
	if err != nil {
		return client.TaskReport{}, err
	}
	defer lock.Close()
	r := client.TaskReport{State: client.Running, Started: t.made("started")}
	if !free {
		return r, nil
	}
	// Whoever held the lock is gone: what it wrote is all that there will be.
	text, err := os.ReadFile(t.file("exit"))
	switch {
	case err == nil:
		code, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
		if err != nil {
			return r, fmt.Errorf("read %s: %w", t.file("exit"), err)
		}
		return t.ended(r, int32(code), t.made("exit")), nil
	case !errors.Is(err, fs.ErrNotExist):
		return r, err
	case t.has("killed"):
		return t.ended(r, 128+int32(syscall.SIGKILL), t.made("killed")), nil
	}
	boot, err := bootID()
	if err != nil {
		return r, err
	}
	claimed, err := os.ReadFile(t.file("boot"))
	if err != nil {
		return r, err
	}
	if string(claimed) == boot && !t.has("started") {
		return client.TaskReport{State: unknown}, nil // the executor died before it started it
	}
	r.State, r.Detail = client.Lost, "its shell is gone, and left no exit code"
	return r, nil
}

// ended completes the report of a task that ended with a code. One that was asked
// to end did not succeed.
func (t task) ended(r client.TaskReport, code int32, at time.Time) client.TaskReport {
	r.State, r.ExitCode, r.Ended = client.Succeeded, code, at
	if why, err := os.ReadFile(t.file("term")); err == nil {
		r.State, r.Detail = client.Failed, string(why)
	}
	if code != 0 {
		r.State = client.Failed
	}
	switch syscall.Signal(code - 128) {
	case syscall.SIGTERM:
		r.Signal = "SIGTERM"
	case syscall.SIGKILL:
		r.Signal = "SIGKILL"
	}
	return r
}

// end asks a task that runs to end, and kills it once the grace is over.
func (t task) end(why string) error {
	text, err := os.ReadFile(t.file("pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("read %s: %q, expected the number of a process", t.file("pid"), text)
	}
	mark, signal := "term", syscall.SIGTERM
	if t.has("term") {
		if time.Since(t.made("term")) < grace {
			return nil
		}
		mark, signal = "killed", syscall.SIGKILL
	}
	if err := os.WriteFile(t.file(mark), []byte(why), 0o600); err != nil {
		return err
	}
	// The lock is held, so the number is still the shell's.
	if err := syscall.Kill(-pid, signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// made is when a file was made, zero where there is none.
func (t task) made(name string) time.Time {
	info, err := os.Stat(t.file(name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
