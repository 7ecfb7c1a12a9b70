package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// fenced puts the fence of the examples into force, which refuses what a replica sends
// that was replaced.
func (f *fleet) fenced() {
	f.t.Helper()
	objects, err := dynamic.NewForConfig(f.plane.Client(cluster.Admin))
	if err != nil {
		f.t.Fatal(err)
	}
	for name, o := range objectsOf(f.t, []string{"fence.yaml"}) {
		kind, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		if _, err := objects.Resource(kind).Apply(f.t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
			f.t.Fatalf("%s: %v", name, err)
		}
	}
}

// replica starts a daemon on a data directory of its own that is at home in the plane.
// Whether it leads or stands by, it answers.
func (f *fleet) replica(lease string) *program {
	f.t.Helper()
	name, err := binary()
	if err != nil {
		f.t.Fatal(err)
	}
	dir := f.t.TempDir()
	p := &program{t: f.t, name: name, dir: dir, cmd: exec.Command(name, "serve", "--data-dir", dir, "--api.listen", "127.0.0.1:0", "--engine.kind", "sim",
		"--queue.retry-base", "50ms", "--cluster.home", "poise", "--cluster.home-kubeconfig", f.plane.Kubeconfig(cluster.Admin), "--cluster.home-lease", lease)}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		p.kill()
		if f.t.Failed() {
			f.t.Logf("the replica of %s said:\n%s", dir, p.said())
		}
	})
	eventually(f.t, "the replica answers", func() bool {
		_, err := os.Stat(filepath.Join(dir, "poise.sock"))
		return err == nil
	})
	return p
}

// leads waits until a replica leads.
func (p *program) leads() {
	p.t.Helper()
	eventually(p.t, "it leads", func() bool {
		_, err := p.try("cluster", "list")
		return err == nil
	})
}

// A second replica takes over from one that stands still past its lease, with all that
// was acknowledged; the first wakes up and ends. No pod is bound twice, no node is
// filled beyond what it has, no job is lost or run twice.
func TestTakeOver(t *testing.T) {
	f := newFleet(t, "n1", "n2", "n3", "n4")
	for _, space := range []string{"poise", "red", "blue"} {
		f.space(space)
	}
	f.fenced()
	seen := newAudit(f, "north")
	a := f.replica("4s")
	a.leads()
	b := f.replica("4s")
	if out, err := b.try("job", "list"); err == nil || !strings.Contains(out, "this replica stands by, and ") {
		t.Errorf("%v %s", err, out)
	}
	if code := a.cmd.ProcessState; code != nil {
		t.Fatalf("the first replica ended: %v", code)
	}
	a.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	a.poise("tenant", "create", "red")
	a.poise("tenant", "quota", "red", "--set", "cpu=limit:12", "--weight", "3")
	plugin := filepath.Join("..", "..", "..", "plugins", "binpack", "binpack.wasm")
	a.poise("plugin", "push", plugin, "--tenant", "red")
	a.poise("plugin", "activate", "binpack", "--tenant", "red")
	a.poise("tenant", "token", "create", "red", "--role", "submitter", "--name", "ann")

	a.submit("runs", "1")
	a.is("runs", "running")
	a.submit("ends", "1", "run-for=100ms", "exit-code=3")
	a.is("ends", "failed")
	f.create("blue", "before", "1")
	f.runs("blue", "before")
	// More than there is room for, some of it on the way when the lead stands still.
	for i := range 16 {
		f.create("red", fmt.Sprint("r", i), "500m")
		f.create("blue", fmt.Sprint("b", i), "500m")
		if i == 8 {
			a.poise("job", "submit", "--name", "waits", "--image", "none", "--cpu", "1", "--after-any", "runs")
			if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
	}
	stopped := time.Now()
	b.leads()
	t.Logf("took over %v after the lead stood still, of a lease of 4s", time.Since(stopped).Round(time.Millisecond))
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Wait(); err == nil || a.cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("the one that was replaced ended with %v, expected exit code 5", err)
	}
	if !strings.Contains(a.said(), "this replica does not any more") {
		t.Errorf("it said\n%s", a.said())
	}
	if out := b.is("runs", "running"); !strings.Contains(out, "north/n") {
		t.Errorf("%s", out)
	}
	b.is("ends", "failed")
	b.is("waits", "waiting")
	if out := b.poise("plugin", "list", "--tenant", "red"); !strings.Contains(out, "binpack") || !strings.Contains(out, "active") {
		t.Errorf("%s", out)
	}
	if out := b.poise("tenant", "quota", "red"); !strings.Contains(out, "12") {
		t.Errorf("%s", out)
	}
	if out := b.poise("tenant", "token", "list", "red"); !strings.Contains(out, "ann") {
		t.Errorf("%s", out)
	}
	settled(t, b, seen)
	if pods := f.jobPods(); len(pods) != 2 {
		t.Errorf("%d pods of jobs, expected one each for runs and ends", len(pods))
	}
	for i := range 16 {
		f.delete("red", fmt.Sprint("r", i))
	}
	b.poise("job", "cancel", "runs")
	b.is("waits", "running")
	if out := b.poise("job", "list", "--tenant", "blue"); strings.Count(out, "running") != 17 {
		t.Errorf("expected that blue has 17 that run:\n%s", out)
	}
	settled(t, b, seen)
	// The one that leads ends in order: the next need not wait for the lease.
	c := f.replica("4s")
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	c.leads()
	if out := c.is("waits", "running"); !strings.Contains(out, "north/n") {
		t.Errorf("%s", out)
	}
}

// Replicas that lead stand still, are killed or end in order, again and again, while
// pods and jobs come and go: what was acknowledged is done once.
func TestTakeOversByChance(t *testing.T) {
	f := newFleet(t, "n1", "n2", "n3")
	f.space("poise")
	f.fenced()
	seen := newAudit(f, "north")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	lead := f.replica("3s")
	lead.leads()
	lead.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	acknowledged := map[string]bool{}
	for round := range 4 {
		next := f.replica("3s")
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("j%d-%d", round, i)
				out, err := lead.try("job", "submit", "--name", name, "--image", "none", "--cpu", "500m", "--env", "kubelet.test/run-for=2s", "--", "work")
				if err == nil {
					acknowledged[name] = true
				} else if !strings.Contains(out, "poise: ") {
					t.Errorf("%v %s", err, out)
				}
			}
		}()
		for i := range 8 {
			f.create("default", fmt.Sprintf("p%d-%d", round, i), "500m", runFor(3*time.Second))
		}
		time.Sleep(time.Duration(chance.IntN(1500)) * time.Millisecond)
		end := []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL, syscall.SIGTERM}[chance.IntN(3)]
		t.Logf("round %d: %v", round, end)
		if err := lead.cmd.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		next.leads()
		if end == syscall.SIGSTOP {
			if err := lead.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
		_ = lead.cmd.Wait() // however it ends, it does
		close(stop)
		<-done
		lead = next
	}
	eventually(t, "all jobs have ended", func() bool {
		jobs, _, err := lead.lists()
		left := 0
		for _, j := range jobs {
			if strings.HasPrefix(j.Name, "j") && j.State != "succeeded" {
				left++
			}
		}
		return err == nil && left == 0
	})
	settled(t, lead, seen)
	jobs, _, err := lead.lists()
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		delete(acknowledged, j.Name)
	}
	for name := range acknowledged {
		t.Errorf("job %s was acknowledged, and nobody knows it", name)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	runs := map[string]int{}
	for _, p := range seen.pods {
		if id := p.Annotations[jobNote]; id != "" {
			runs[id]++
		}
	}
	for id, n := range runs {
		if n > 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
	t.Logf("%d jobs, %d of them with pods", len(jobs), len(runs))
}
