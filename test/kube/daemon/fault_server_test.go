package daemon

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

var long = flag.Bool("long", false, "a cluster is lost for five minutes instead of 35 seconds")

func name(kind string, i, j int) string { return fmt.Sprintf("%s-%d-%d", kind, i, j) }

// The API server is killed and started again and again under load, and the daemon once
// meanwhile: nothing is forgotten, and nothing runs twice.
func TestAPIServerRestarts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2", "n3")
	a := newAudit(f, "north")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	const rounds, each = 3, 8
	for i := range rounds {
		for j := range each {
			f.create("default", name("pod", i, j), "1", runFor(2*time.Second))
			p.submit(name("job", i, j), "1", "run-for=1s")
		}
		time.Sleep(time.Duration(i) * 300 * time.Millisecond)
		f.plane.KillAPIServer()
		p.submit(name("job", i, each), "1", "run-for=1s")
		if i == 1 {
			p.kill()
			p = serve(t, p.dir)
		}
		if err := f.plane.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.ended("default/pod", rounds*each)
	p.ended("job", rounds*(each+1))
	settled(t, p, a)
}

// etcd stops for longer than a bind may take: the API server answers from memory, and
// no write comes back. The daemon is killed meanwhile. Nothing is bound twice.
func TestEtcdPaused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2")
	a := newAudit(f, "north")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	for i := range 12 {
		f.create("default", name("pod", 0, i), "1", runFor(4*time.Second))
	}
	f.runs("default", name("pod", 0, 0))
	for i := range 6 {
		p.submit(name("job", 0, i), "1", "run-for=1s")
	}
	if err := f.plane.PauseEtcd(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		p.submit(name("job", 1, i), "1", "run-for=1s")
	}
	time.Sleep(6 * time.Second)
	p.kill()
	p = serve(t, p.dir)
	time.Sleep(6 * time.Second)
	if err := f.plane.ResumeEtcd(); err != nil {
		t.Fatal(err)
	}
	p.ended("default/pod", 12)
	p.ended("job", 9)
	settled(t, p, a)
}

// A cluster is out of reach long enough to be lost, and goes on by itself meanwhile:
// pods end, others are deleted, made and put on its nodes, a node goes and one comes.
// Nothing new goes there while it is lost; when it is back, all of it is taken in.
func TestClusterLost(t *testing.T) {
	t.Parallel()
	x := newFaulty(t, "n1", "n2", "n3")
	x.create("default", "ends", "3", onNode("n1"), runFor(8*time.Second))
	x.create("default", "deleted", "3", onNode("n2"))
	x.create("default", "goes", "3", onNode("n3"))
	x.p.submit("runs", "500m")
	x.p.submit("finishes", "500m", "run-for=8s", "log=done")
	for _, name := range []string{"ends", "deleted", "goes"} {
		x.runs("default", name)
	}
	x.p.is("runs", "running")
	x.p.is("finishes", "running")
	x.create("default", "waits", "4", onNode("n2"))
	settled(t, x.p, x.audit)

	x.down(true)
	began := time.Now()
	x.p.submit("meanwhile", "1", "run-for=1s")
	_, _ = x.p.try("job", "cancel", "runs")
	x.now("deleted")
	x.create("default", "deleted", "1", onNode("n2"))
	x.dropNode("n3")
	x.now("goes")
	eventually(t, "the cluster is lost", func() bool {
		out, err := x.p.try("cluster", "list")
		return err == nil && strings.Contains(out, "lost")
	})
	if lost := time.Since(began); lost < 30*time.Second || lost > 40*time.Second {
		t.Errorf("lost after %s, expected 30 s", lost)
	}
	x.create("default", "agent", "2", func(pod *v1.Pod) { pod.Spec.SchedulerName, pod.Spec.NodeName = "other", "n1" })
	x.p.submit("after", "1", "run-for=1s")
	if *long {
		time.Sleep(5*time.Minute - time.Since(began))
		x.restart()
	}
	time.Sleep(2 * time.Second)
	if out := x.p.poise("job", "list"); !has(out, "after", "waiting") || !has(out, "default/ends", "running") {
		t.Errorf("a cluster that is lost takes new work, or what runs there is given up:\n%s", out)
	}
	x.down(false)
	back := time.Now()
	for _, name := range []string{"meanwhile", "after", "finishes"} {
		x.p.is(name, "succeeded")
	}
	x.p.is("runs", "cancelled")
	x.runs("default", "waits")
	settled(t, x.p, x.audit)
	t.Logf("settled %s after it was back", time.Since(back).Round(time.Second))
	x.now("waits")
	x.runs("default", "deleted")
	settled(t, x.p, x.audit)
	out := x.p.poise("job", "list")
	for name, want := range map[string]string{"default/ends": "succeeded", "default/goes": "lost"} {
		if !has(out, name, want) {
			t.Errorf("%s is not %s:\n%s", name, want, out)
		}
	}
}
