package main

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is a daemon in a process of its own, with its data in dir.
type process struct {
	dir string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// scratch makes an empty folder for a daemon's data.
func (b *bench) scratch() (string, error) { return os.MkdirTemp(b.dir, "daemon-") }

// start runs the child of one kind on dir.
func (b *bench) start(dir string, kind string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, cmd: exec.Command(self, append([]string{childArgument, kind, dir, strconv.Itoa(b.nodes), b.profile}, args...)...)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// line reads what the child says next.
func (p *process) line() (string, error) {
	text, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.in.Close()
		return "", fmt.Errorf("child: %w (%v)", err, p.cmd.Wait())
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// answer reads a value that the child says.
func answer[T any](p *process) (v T, err error) {
	text, err := p.line()
	if err == nil {
		err = json.Unmarshal([]byte(text), &v)
	}
	return v, err
}

// stop has the child end, and waits for it.
func (p *process) stop() error {
	_ = p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

// written reads what the store of a child that has ended wrote.
func (p *process) written() ([]transaction, error) {
	f, err := os.Open(filepath.Join(p.dir, writtenFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []transaction
	return all, gob.NewDecoder(bufio.NewReader(f)).Decode(&all)
}

// tick is the unit of processor times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// processor gives the processor time that a process has used; 0 where there is no
// /proc.
func processor(pid string) time.Duration {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name before may hold anything
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	used := time.Duration(0)
	for _, f := range fields[11:13] {
		n, _ := strconv.Atoi(f)
		used += time.Duration(n) * tick
	}
	return used
}

// wakeups gives how often the threads of a process have come back from a wait of
// their own; false where there is no /proc.
func wakeups(pid int) (int, bool) {
	names, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "status"))
	if err != nil || len(names) == 0 {
		return 0, false
	}
	sum := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(text)) {
			if count, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(count))
				sum += n
			}
		}
	}
	return sum, true
}
