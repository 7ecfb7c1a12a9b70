//go:build linux

package local

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/poise-sched/poise/host/engine"
)

// crashTask writes its name to a file that shows how often it ran, and ends with
// a code of its own.
func crashTask(runs string, i int) engine.Binding {
	return sh(fmt.Sprintf("p%d", i), fmt.Sprintf("echo run >>%s/%d; i=0; while [ $i -lt %d ]; do i=$((i+1)); done; exit %d", runs, i, i%7*1000, i%100))
}

// runDaemon is a daemon that binds the tasks of a range, as often as it is
// started, and says what it does. It ends by a kill only.
func runDaemon(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	from, _ := strconv.Atoi(args[2])
	to, _ := strconv.Atoi(args[3])
	e, err := New(Options{Dir: args[0], Shim: shimOf(self), Now: present})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("open")
	go func() {
		for i := from; i < to; i++ {
			if err := e.Bind(context.Background(), crashTask(args[1], i)); err != nil {
				fmt.Println("error", err)
			}
			fmt.Println("bound", i)
		}
	}()
	_ = e.Watch(context.Background(), func(s engine.Status) { fmt.Println("status", s.Placement, s.State) }) // never ends
	return 0
}

// A daemon that is killed at any point, again and again, has every task run
// once, and the last daemon knows how each one ended.
func TestDaemonKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, runs := t.TempDir(), t.TempDir()
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	rounds, each := 50, 8
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		// The tasks of the round before are bound again: its daemon may have died
		// before it could tell.
		from, to := max(0, round-1)*each, (round+1)*each
		d := exec.Command(self, "daemon", dir, runs, strconv.Itoa(from), strconv.Itoa(to))
		d.Stderr = os.Stderr
		out, err := d.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 1 + r.Intn(4*each); n > 0 && lines.Scan(); n-- {
			if strings.HasPrefix(lines.Text(), "error") {
				t.Errorf("round %d: %s", round, lines.Text())
			}
		}
		if err := d.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = d.Wait() // killed, so an error
	}
	w := open(t, options(t, dir))
	for i := range rounds * each {
		w.bind(crashTask(runs, i))
	}
	for i := range rounds * each {
		s := w.end(fmt.Sprintf("p%d", i))
		want := engine.Failed
		if i%100 == 0 {
			want = engine.Succeeded
		}
		if s.State != want || s.ExitCode != int32(i%100) || s.Started == 0 || s.Ended < s.Started || s.Detail != "" {
			t.Errorf("%+v, expected %s %d", s, want, i%100)
		}
		if text, _ := os.ReadFile(filepath.Join(runs, strconv.Itoa(i))); string(text) != "run\n" {
			t.Errorf("task %d ran as %q, expected once", i, text)
		}
	}
}

// Tasks run on without a daemon, and end without one.
func TestRestart(t *testing.T) {
	opt := options(t, t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	w := open(t, opt)
	w.bind(sh("runs", "read x <"+gate+"; exit 5"))
	w.bind(sh("ends", "exit 6"))
	w.bind(sh("evicted", "trap 'exit 7' TERM; while :; do sleep 1000 & wait; done"))
	first := w.running("runs")
	w.running("evicted")
	w.stop()
	eventually(t, "the end on disk", func() bool {
		var e end
		found, err := read(w.taskFolder("ends"), statusFile, &e)
		return found && err == nil
	})
	// The daemon died between request and signal.
	if err := write(w.taskFolder("evicted"), evictFile, &evict{format, 1, 3_600_000}, false, false); err != nil {
		t.Fatal(err)
	}
	w = open(t, opt)
	if s := w.running("runs"); s.Started != first.Started {
		t.Errorf("started at %d, then at %d", first.Started, s.Started)
	}
	if s := w.end("ends"); s.ExitCode != 6 {
		t.Errorf("%+v", s)
	}
	if s := w.end("evicted"); s.State != engine.Failed || s.Detail != "evicted" {
		t.Errorf("%+v", s)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if s := w.end("runs"); s.ExitCode != 5 {
		t.Errorf("%+v", s)
	}
}

func TestOneDaemon(t *testing.T) {
	w := fresh(t)
	if _, err := New(w.opt); err == nil || !strings.Contains(err.Error(), "in use by another daemon") {
		t.Errorf("a second engine in one folder: %v", err)
	}
	w.stop()
	open(t, w.opt)
	if err := w.Bind(context.Background(), sh("p", ":")); err == nil {
		t.Error("a closed engine binds")
	}
}
