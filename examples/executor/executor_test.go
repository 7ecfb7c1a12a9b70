//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
)

// world is a daemon with a fleet of one node, whose tasks an executor runs, both
// as a user has them: two programs.
type world struct {
	t        *testing.T
	bin, dir string
	daemon   *exec.Cmd
	executor *exec.Cmd
	*client.Client
}

func newWorld(t *testing.T, bin string) *world {
	t.Helper()
	// A name short enough for a socket.
	dir, err := os.MkdirTemp("", "poise")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: bin, dir: dir}
	if w.Client, err = client.New(filepath.Join(dir, "data", "poise.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		kill(w.executor)
		kill(w.daemon)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w.serve()
	w.execute()
	return w
}

// start starts a program whose last words are shown where the test fails.
func (w *world) start(program string, args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, program), args...)
	cmd.Stdout, cmd.Stderr = w.t.Output(), w.t.Output()
	cmd.Env = append(os.Environ(), "POISE_ENGINE_KIND=sim", "POISE_API_LISTEN=127.0.0.1:0", "POISE_API_RATE=100000", "POISE_API_BURST=100000")
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

func (w *world) serve() {
	w.t.Helper()
	w.daemon = w.start("poise", "serve", "--data-dir", filepath.Join(w.dir, "data"))
	w.eventually("a daemon", func() bool { _, err := w.Health(w.t.Context()); return err == nil })
}

func (w *world) execute() {
	w.t.Helper()
	w.executor = w.start("executor", "--address", filepath.Join(w.dir, "data", "poise.sock"), "--node", "n", "--dir", filepath.Join(w.dir, "executor"), "--cpu", "100")
}

// kill kills a program and waits for its end.
func kill(cmd *exec.Cmd) {
	if cmd != nil && cmd.Process.Kill() == nil {
		_ = cmd.Wait() // killed, so an error
	}
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		if pause(ctx, 20*time.Millisecond) != nil {
			w.t.Fatalf("never came: %s", what)
		}
	}
}

func (w *world) submit(spec client.JobSpec) string {
	w.t.Helper()
	spec.Request = map[string]client.Quantity{"cpu": "1"}
	jobs, err := w.Submit(w.t.Context(), []client.JobSpec{spec}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return jobs[0].ID
}

func (w *world) until(id string, state client.JobState) client.Job {
	w.t.Helper()
	var j client.Job
	w.eventually(id+" "+string(state), func() bool {
		var err error
		if j, err = w.Job(w.t.Context(), id); err != nil {
			return false // the daemon may be gone just now
		}
		if j.State.Ended() && j.State != state {
			w.t.Fatalf("%+v, expected it %s", j, state)
		}
		return j.State == state
	})
	return j
}

func (w *world) lines(name string) []string {
	w.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func TestExecutor(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs")
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", ".", "../../cmd/poise").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	f := func(name string, test func(*testing.T, string)) { t.Run(name, func(t *testing.T) { test(t, bin) }) }
	f("killed midway", killedMidway)
	f("killed at random", killedAtRandom)
	f("ends", ends)
	f("lost memory", lostMemory)
}

// A task goes on while its executor is dead, and while the daemon is, and ends
// once.
func killedMidway(t *testing.T, bin string) {
	w := newWorld(t, bin)
	marks, gate := filepath.Join(w.dir, "marks"), filepath.Join(w.dir, "gate")
	id := w.submit(client.JobSpec{
		Name: "a", Command: []string{"sh", "-c", `echo begun >>"$MARKS"; while [ ! -e "$GATE" ]; do sleep 0.02; done; echo over >>"$MARKS"; exit 3`},
		Env: map[string]string{"MARKS": marks, "GATE": gate},
	})
	placement := w.until(id, client.Running).Placement
	kill(w.executor)
	kill(w.daemon)
	w.serve()
	w.execute()
	w.until(id, client.Running)
	kill(w.executor)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.eventually("the task's end", func() bool { return len(w.lines(marks)) == 2 })
	w.execute()
	if j := w.until(id, client.Failed); j.ExitCode == nil || *j.ExitCode != 3 || j.Detail != "" || j.Placement != placement {
		t.Errorf("%+v, expected the end that no executor saw", j)
	}
	if got := w.lines(marks); strings.Join(got, " ") != "begun over" {
		t.Errorf("%q, expected that it ran once", got)
	}
	w.eventually("nothing left of it but its output", func() bool {
		left, err := os.ReadDir(filepath.Join(w.dir, "executor", "tasks"))
		return err == nil && len(left) == 0
	})
}

// Killed at random moments, the executor runs each task once.
func killedAtRandom(t *testing.T, bin string) {
	w := newWorld(t, bin)
	const jobs, rounds = 40, 20
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var ids []string
	for i := range jobs {
		ids = append(ids, w.submit(client.JobSpec{
			Name: fmt.Sprint("j", i), Command: []string{"sh", "-c", "echo x >>$MARK; sleep 0.0" + fmt.Sprint(r.IntN(10))},
			Env: map[string]string{"MARK": filepath.Join(w.dir, fmt.Sprint("mark", i))},
		}))
		if i%(jobs/rounds) == 0 {
			_ = pause(t.Context(), time.Duration(r.IntN(300))*time.Millisecond)
			kill(w.executor)
			w.execute()
		}
	}
	for i, id := range ids {
		w.until(id, client.Succeeded)
		if got := w.lines(filepath.Join(w.dir, fmt.Sprint("mark", i))); len(got) != 1 {
			t.Errorf("job %d began %d times, expected once", i, len(got))
		}
	}
}

// What ends before its time says why.
func ends(t *testing.T, bin string) {
	w := newWorld(t, bin)
	f := func(spec client.JobSpec, cancel bool, code int32, detail string) {
		t.Helper()
		id := w.submit(spec)
		if cancel {
			w.until(id, client.Running)
			if _, err := w.Cancel(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if j := w.until(id, client.Failed); j.ExitCode == nil || *j.ExitCode != code || j.Detail != detail {
			t.Errorf("%s: %+v, expected code %d, %s", spec.Name, j, code, detail)
		}
	}
	f(client.JobSpec{Name: "none"}, false, 127, "command: none, expected a program and its arguments")
	f(client.JobSpec{Name: "missing", Command: []string{"no-such-program"}}, false, 127, "")
	f(client.JobSpec{Name: "nowhere", Command: []string{"true"}, Dir: "/no/such"}, false, 126, "")
	f(client.JobSpec{Name: "long", Command: []string{"sleep", "600"}, RunTime: "1s"}, false, 143, "run_time: over the limit of 1s")
	f(client.JobSpec{Name: "cancelled", Command: []string{"sleep", "600"}}, true, 143, "cancelled")
}

// An executor that has lost its folder does not start what it had.
func lostMemory(t *testing.T, bin string) {
	w := newWorld(t, bin)
	id := w.submit(client.JobSpec{Name: "a", Command: []string{"sleep", "0.5"}})
	w.until(id, client.Running)
	kill(w.executor)
	if err := os.Rename(filepath.Join(w.dir, "executor"), filepath.Join(w.dir, "lost")); err != nil {
		t.Fatal(err)
	}
	w.execute()
	if j := w.until(id, client.Lost); j.Detail != "the executor has lost what it knew of it" {
		t.Errorf("%+v", j)
	}
}

// Two executors do not share a folder, nor a task its shell.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	s, err := openShelf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openShelf(dir); err == nil || !strings.Contains(err.Error(), "is in use, expected one that no other executor uses") {
		t.Errorf("%v, expected that it is in use", err)
	}
	f := func(name, want string, files ...string) {
		t.Helper()
		task := s.task(name)
		if err := task.claim(); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, text, _ := strings.Cut(file, "=")
			if err := os.WriteFile(task.file(name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := task.status()
		if got := strings.TrimSpace(fmt.Sprintf("%s %d %s %s", r.State, r.ExitCode, r.Signal, r.Detail)); err != nil || got != want {
			t.Errorf("%s: %q, %v, expected %q", name, got, err, want)
		}
	}
	if r, err := s.task("p0").status(); err != nil || r.State != unknown {
		t.Errorf("%+v, %v, expected a task that is not known", r, err)
	}
	f("p/1", "0")
	f("p2", "lost 0  its shell is gone, and left no exit code", "started")
	f("p3", "lost 0  its shell is gone, and left no exit code", "boot=another")
	f("p4", "succeeded 0", "started", "exit=0\n")
	f("p5", "failed 1", "started", "exit=1\n")
	f("p6", "failed 143 SIGTERM cancelled", "started", "exit=143\n", "term=cancelled")
	f("p7", "failed 0  cancelled", "started", "exit=0\n", "term=cancelled")
	f("p8", "failed 137 SIGKILL cancelled", "started", "term=cancelled", "killed")
}
