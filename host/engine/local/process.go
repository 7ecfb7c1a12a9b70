//go:build linux

package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ident names one process for good: a pid comes back after a while, a pid with
// the same start time never does before the machine starts again.
type ident struct {
	PID   int
	Start uint64 // clock ticks since the boot
	Boot  string // the boot's id
}

// process is what /proc says of one process.
type process struct {
	ident
	state   byte
	parent  int
	group   int
	session int
}

// dead says whether only its entry is left.
func (p *process) dead() bool { return p.state == 'Z' || p.state == 'X' }

// bootID gives the id of this boot of the machine.
func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// look reads one process; boot is the present boot's id.
func look(pid int, boot string) (process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	p, err := parseStat(text)
	p.Boot = boot
	return p, err
}

// parseStat reads the text of /proc/PID/stat. The second field is the name of
// the program in brackets, which may itself hold brackets, spaces and newlines.
func parseStat(text []byte) (process, error) {
	head, _, ok1 := bytes.Cut(text, []byte(" ("))
	last := bytes.LastIndexByte(text, ')')
	if !ok1 || last < 0 {
		return process{}, errors.New("stat: no name in brackets")
	}
	fields := strings.Fields(string(text[last+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 {
		return process{}, fmt.Errorf("stat: %d fields behind the name, expected 20 or more", len(fields))
	}
	p := process{state: fields[0][0]}
	for _, x := range []struct {
		text string
		to   *int
	}{{string(head), &p.PID}, {fields[1], &p.parent}, {fields[2], &p.group}, {fields[3], &p.session}} {
		n, err := strconv.Atoi(x.text)
		if err != nil {
			return process{}, fmt.Errorf("stat: %w", err)
		}
		*x.to = n
	}
	var err error
	p.Start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err
}

// processes lists all processes that are not dead.
func processes(boot string) ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := look(pid, boot)
		if err == nil && !p.dead() {
			all = append(all, p)
		}
	}
	return all, nil
}

// send signals the very process id names, and says whether it is there. The
// handle is opened before the start time is read, so the pid cannot pass on to
// another process in between.
func send(id ident, sig syscall.Signal) (bool, error) {
	h, err := os.FindProcess(id.PID)
	if err != nil {
		return false, nil
	}
	defer func() { _ = h.Release() }()
	boot, err := bootID()
	if err != nil {
		return false, err
	}
	p, err := look(id.PID, boot)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || err == nil && (p.ident != id || p.dead()) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = h.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return false, nil
	}
	return err == nil, err
}

// marked says whether a process has the mark in its environment.
func marked(pid int, mark string) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00"))
}

// leftovers picks the processes of a task whose shim is gone. With fresh, the
// shim ended only now, so its session number cannot be in use by others yet.
// Else a session is the task's only if something in it proves it: a number in
// use is not given away, so then all of the session is the task's.
func leftovers(all []process, c claim, fresh bool, marked func(pid int) bool) []process {
	in := func(p process) bool {
		return c.Shim.PID != 0 && p.session == c.Shim.PID && p.Boot == c.Shim.Boot && p.Start >= c.Shim.Start
	}
	ours := make([]bool, len(all))
	proven := fresh
	for i, p := range all {
		ours[i] = p.ident == c.Task || marked(p.PID)
		proven = proven || ours[i] && in(p)
	}
	var left []process
	for i, p := range all {
		if ours[i] || proven && in(p) {
			left = append(left, p)
		}
	}
	return left
}

// descendants picks the processes below root.
func descendants(all []process, root int) []process {
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for next := children[root]; len(next) > 0; next = next[1:] {
		found = append(found, next[0])
		next = append(next[:len(next):len(next)], children[next[0].PID]...)
	}
	return found
}

// sweepTime bounds how long leftovers may take to be gone; what waits for a
// device in the kernel cannot be ended.
const sweepTime = 10 * time.Second

// sweep kills what is left of a task whose shim is gone, and says whether
// nothing is.
func sweep(dir string, c claim, fresh bool) bool {
	boot, err := bootID()
	if err != nil {
		return false
	}
	mark := taskMark(dir)
	self := os.Getpid()
	pause := time.Millisecond
	for began := time.Now(); ; pause = min(2*pause, 100*time.Millisecond) {
		all, err := processes(boot)
		if err != nil {
			return false
		}
		left := leftovers(all, c, fresh, func(pid int) bool { return pid != self && marked(pid, mark) })
		if len(left) == 0 {
			return true
		}
		if time.Since(began) > sweepTime {
			return false
		}
		for _, p := range left {
			_, _ = send(p.ident, syscall.SIGKILL) // the next round sees whether it worked
		}
		time.Sleep(pause)
	}
}
