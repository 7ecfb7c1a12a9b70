//go:build unix

package cli

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// block is a piece of code in the README.
type block struct{ kind, text string }

// readmeBlocks gives the blocks of a section that are to be run, and those that
// say what comes out.
func readmeBlocks(t *testing.T, section string) []block {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []block
	for _, m := range regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block{m[1], strings.TrimSpace(m[2])})
	}
	return blocks
}

// tour is a folder in which a person would try the README, with bin/poise.
type tour struct {
	t       *testing.T
	dir     string
	daemon  *exec.Cmd
	log     bytes.Buffer
	stopped chan error
}

func newTour(t *testing.T) *tour {
	t.Helper()
	w := &tour{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(w.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program(t), filepath.Join(w.dir, "bin", "poise")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *tour) bash(script string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+w.dir, "XDG_CONFIG_HOME="+filepath.Join(w.dir, "config"))
	return cmd
}

// run gives what a script says; it has to succeed.
func (w *tour) run(script string) string {
	w.t.Helper()
	out, err := w.bash(script).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v\n%s\nthe daemon says\n%s", err, out, &w.log)
	}
	return string(out)
}

// serve starts the daemon and waits until it can be asked.
func (w *tour) serve(command string) {
	w.t.Helper()
	w.daemon = w.bash("exec " + command) // so that a signal reaches the daemon and not its shell
	w.daemon.Stdout, w.daemon.Stderr = &w.log, &w.log
	if err := w.daemon.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.stopped = make(chan error, 1)
	go func() { w.stopped <- w.daemon.Wait() }()
	for {
		if c, err := net.Dial("unix", filepath.Join(w.dir, "data", "poise.sock")); err == nil {
			_ = c.Close()
			return
		}
		select {
		case err := <-w.stopped:
			w.t.Fatalf("serve: %v\n%s", err, &w.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *tour) stop() {
	w.t.Helper()
	if err := w.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := <-w.stopped; err != nil {
		w.t.Fatalf("stop: %v\n%s", err, &w.log)
	}
}

// freeAddress gives an address on which nobody listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The README's "Run it" works as printed: the daemon starts, the commands
// succeed one after the other and say what the README says, and the decisions
// can be made again.
func TestQuickStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	blocks := readmeBlocks(t, "Run it")
	if len(blocks) != 4 || blocks[2].kind != "text" {
		t.Fatalf("README: %d blocks in Run it, expected serve, use, what it says, replay", len(blocks))
	}
	w := newTour(t)
	w.serve(blocks[0].text + " --api.listen 127.0.0.1:0")
	out := w.run(blocks[1].text)
	for line := range strings.Lines(blocks[2].text) {
		if line = strings.TrimSpace(line); !strings.Contains(out, line) {
			t.Errorf("the README has %q, expected a part of\n%s", line, out)
		}
	}
	w.stop()
	if again := w.run(blocks[3].text); !strings.Contains(again, "1 decisions made again, equal to the bit") {
		t.Errorf("replay:\n%s", again)
	}
}
