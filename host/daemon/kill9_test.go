//go:build linux

package daemon

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

var (
	kill9Rounds = flag.Int("kill9", 10, "rounds of TestKill9; 3 at most with -short")
	kill9Seed   = flag.Int64("kill9.seed", 0, "seed of TestKill9; 0 = a new one")
)

// build gives the program, built from this tree.
func build(t *testing.T) string {
	t.Helper()
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to build poise with")
	}
	bin := filepath.Join(t.TempDir(), "poise")
	cmd := exec.Command(gotool, "build", "-o", bin, "github.com/poise-sched/poise/cmd/poise")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// process is poise serve in a process of its own.
type process struct {
	*exec.Cmd
	ready  chan struct{} // closed when it answers, or is gone
	errors strings.Builder
}

func start(t *testing.T, bin, dir string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(bin, "serve"), ready: make(chan struct{})}
	p.Env = append(os.Environ(), environ(dir, settings{"engine.kind": "local"})...)
	p.Stderr = &p.errors
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ready)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "poise serves") {
				return
			}
		}
	}()
	return p
}

// end kills the process as no process can prevent.
func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Errorf("%v: the daemon has ended by itself:\n%s", err, p.errors.String())
	}
	<-p.ready        // all of its output is read
	_ = p.Cmd.Wait() // it was killed
}

// task is what a client of TestKill9 knows of a job. Its name is its key.
type task struct {
	name      string
	long      bool // runs until it is cancelled
	id        string
	cancelled bool // the daemon has said so
}

// crowd are clients that submit and cancel, and go on after a kill where they
// were.
type crowd struct {
	runs string // folder of the files that tasks write to
	mu   sync.Mutex
	all  []*task
}

// spec appends a line to a file of the task's own, so that a second run shows.
func (c *crowd) spec(k *task) client.JobSpec {
	script := fmt.Sprintf("echo $POISE_PLACEMENT >>%s", filepath.Join(c.runs, k.name))
	if k.long {
		script += "; exec sleep 600"
	}
	return sh(k.name, script)
}

// step does the next thing about a task, and says whether all is done.
func (c *crowd) step(ctx context.Context, w *client.Client, k *task) (bool, error) {
	if k.id == "" {
		jobs, err := w.Submit(ctx, []client.JobSpec{c.spec(k)}, k.name)
		if err != nil {
			return false, err
		}
		k.id = jobs[0].ID
		return !k.long, nil
	}
	if !k.long || k.cancelled {
		return true, nil
	}
	_, err := w.Cancel(ctx, k.id)
	k.cancelled = err == nil
	return k.cancelled, err
}

// press has a client take up its old tasks and make new ones until the daemon is
// gone.
func (c *crowd) press(t *testing.T, ctx context.Context, socket string, mine []*task, r *rand.Rand, round, who int) {
	w, err := client.New(socket)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	for i := 0; i < 6; i++ {
		k := &task{name: fmt.Sprintf("r%d-%d-%d", round, who, i), long: r.Intn(5) == 0}
		c.mu.Lock()
		c.all = append(c.all, k)
		c.mu.Unlock()
		mine = append(mine, k)
	}
	for _, k := range mine {
		for done := false; !done; {
			if done, err = c.step(ctx, w, k); err != nil {
				if kind := poise.KindOf(err); kind != poise.Unavailable {
					t.Errorf("%s: %v, expected nothing but that the daemon is gone", k.name, err)
				}
				return
			}
		}
	}
}

// A daemon that is killed again and again, at any point, loses no job that it
// acknowledged and runs none twice, and keeps the sums.
func TestKill9(t *testing.T) {
	rounds, seed := *kill9Rounds, *kill9Seed
	if testing.Short() {
		rounds = min(rounds, 3)
	}
	if seed == 0 {
		seed = rand.Int63()
	}
	t.Logf("go test ./host/daemon -run TestKill9 -kill9 %d -kill9.seed %d", rounds, seed)
	bin, dir := build(t), folder(t)
	c := &crowd{runs: t.TempDir()}
	socket := filepath.Join(dir, "data", "poise.sock")
	r := rand.New(rand.NewSource(seed))
	const clients = 4
	for round := range rounds {
		p := start(t, bin, dir)
		ctx, cancel := context.WithCancel(t.Context())
		delay := time.After(time.Duration(r.Intn(400)) * time.Millisecond)
		var all sync.WaitGroup
		if r.Intn(8) > 0 { // else it is killed while it starts
			<-p.ready
			var open [clients][]*task
			for i, k := range c.all {
				if k.id == "" || k.long && !k.cancelled {
					open[i%clients] = append(open[i%clients], k)
				}
			}
			for who := range clients {
				seeded := rand.New(rand.NewSource(r.Int63()))
				all.Go(func() { c.press(t, ctx, socket, open[who], seeded, round, who) })
			}
		}
		<-delay
		p.end(t)
		cancel()
		all.Wait()
	}
	c.check(t, start(t, bin, dir), socket)
}

// check lets everything end under the last daemon and looks at what has become
// of it.
func (c *crowd) check(t *testing.T, p *process, socket string) {
	t.Helper()
	defer p.end(t)
	<-p.ready
	one, err := client.New(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	w := &world{Client: one, t: t}
	acknowledged, ran := 0, 0
	for _, k := range c.all {
		if k.id != "" {
			acknowledged++
		}
		for done := false; !done; {
			if done, err = c.step(t.Context(), one, k); err != nil {
				t.Fatalf("%s: %v", k.name, err)
			}
		}
	}
	for _, k := range c.all {
		eventually(t, k.name+" ended", func() bool { return w.job(k.id).State.Ended() })
		j := w.job(k.id)
		if by := w.job(k.name); by.ID != k.id {
			t.Errorf("%s: %s and %s, expected one job", k.name, by.ID, k.id)
		}
		text, err := os.ReadFile(filepath.Join(c.runs, k.name))
		lines := strings.Count(string(text), "\n")
		ran += lines
		switch {
		case lines > 1:
			t.Errorf("%s ran %d times:\n%s", k.name, lines, text)
		case !k.long && (j.State != client.Succeeded || lines != 1):
			t.Errorf("%s: %s (%s), ran %d times (%v), expected a success of one run", k.name, j.State, j.Detail, lines, err)
		case k.long && (j.State == client.Succeeded || j.Detail != cancelled):
			t.Errorf("%s: %s (%s), expected it cancelled", k.name, j.State, j.Detail)
		}
	}
	page, err := one.Jobs(t.Context(), client.JobFilter{Limit: client.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	if page.Next == "" && len(page.Jobs) != len(c.all) {
		t.Errorf("%d jobs, expected %d", len(page.Jobs), len(c.all))
	}
	w.checkSums()
	t.Logf("%d jobs, %d acknowledged before the last kill, %d runs", len(c.all), acknowledged, ran)
}
