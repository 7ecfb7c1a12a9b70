//go:build linux

package daemon

import (
	"bufio"
	"context"
	"flag"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	kill9Rounds = flag.Int("kill9", 10, "rounds of TestKill9 and of TestKill9Displaced; 3 at most with -short")
	kill9Seed   = flag.Int64("kill9.seed", 0, "seed of the same; 0 = a new one")
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

func start(t *testing.T, bin, dir string, s settings) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(bin, "serve"), ready: make(chan struct{})}
	p.Env = append(os.Environ(), environ(dir, s)...)
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

// A daemon that is killed again and again, at any point, loses no job that it
// acknowledged and runs none twice, and keeps the sums: single ones, gangs, arrays, and
// such that are held, tried again, late, or come after others.
func TestKill9(t *testing.T) {
	kill9(t, settings{"engine.kind": "local"}, false)
}

// The same where jobs make others end: those run again, each time as another placement.
func TestKill9Displaced(t *testing.T) {
	kill9(t, settings{"engine.kind": "local", "queue.preemption": "priority", "queue.preemption_cooldown": "100ms"}, true)
}

func kill9(t *testing.T, s settings, displacing bool) {
	t.Helper()
	rounds, seed := *kill9Rounds, *kill9Seed
	if testing.Short() {
		rounds = min(rounds, 3)
	}
	if seed == 0 {
		seed = rand.Int63()
	}
	t.Logf("go test ./host/daemon -run '%s$' -kill9 %d -kill9.seed %d", t.Name(), rounds, seed)
	bin, dir := build(t), folder(t)
	c := &crowd{runs: t.TempDir(), displacing: displacing}
	socket := filepath.Join(dir, "data", "poise.sock")
	r := rand.New(rand.NewSource(seed))
	const clients = 4
	for round := range rounds {
		p := start(t, bin, dir, s)
		ctx, cancel := context.WithCancel(t.Context())
		delay := time.After(time.Duration(r.Intn(400)) * time.Millisecond)
		var all sync.WaitGroup
		if r.Intn(8) > 0 { // else it is killed while it starts
			<-p.ready
			var open [clients][]*task
			for i, k := range c.all {
				if !k.done() {
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
	c.check(t, start(t, bin, dir, s), socket)
}
