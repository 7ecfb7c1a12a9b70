package daemon

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// A second scheduler fills the same nodes, as it must not: nodes are given more than
// they can take, and refuse what comes last. Poise takes it that its pods are refused,
// counts those of the other one, and goes on.
func TestSecondScheduler(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2", "n3")
	a := newAudit(f, "north")
	a.lenient = true
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	if err := f.plane.StartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
	const each = 30
	for i := range each {
		f.create("default", fmt.Sprint("ours", i), "1", runFor(3*time.Second))
		f.create("default", fmt.Sprint("theirs", i), "1", func(pod *v1.Pod) { pod.Spec.SchedulerName = "default-scheduler" }, runFor(2*time.Second))
	}
	over := func(prefix string) (succeeded, refused int) {
		for i := range each {
			pod := f.pod("default", fmt.Sprint(prefix, i))
			switch {
			case pod.Status.Phase == v1.PodSucceeded:
				succeeded++
			case pod.Status.Phase == v1.PodFailed && pod.Status.Reason == "OutOfcpu":
				refused++
			}
		}
		return succeeded, refused
	}
	var done, refused int
	eventually(t, "all pods are over", func() bool {
		theirs, no := over("theirs")
		done, refused = over("ours")
		return theirs+no == each && done+refused == each
	})
	settled(t, p, a)
	jobs, _, err := p.lists()
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]int{}
	for _, j := range jobs {
		states[j.State]++
	}
	if states["succeeded"] != done || states["failed"] != refused || len(jobs) != each {
		t.Errorf("%d pods succeeded and %d were refused, the jobs are %v", done, refused, states)
	}
	t.Logf("%d of %d pods were refused", refused, each)
	// Alone on a node of its own it is never refused again.
	f.create("default", "last", "4", runFor(time.Second))
	p.ended("default/last", 1)
}

// Nodes are deleted with pods on them, fall silent and come back under their names:
// nothing goes to one that is not there, what was on it is lost once it is gone, and
// it takes pods again when it is back.
func TestNodesDeleted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2", "n3")
	a := newAudit(f, "north")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	for i := range 3 {
		f.create("default", fmt.Sprint("on", i), "2", onNode(fmt.Sprint("n", i+1)))
		f.runs("default", fmt.Sprint("on", i))
	}
	p.file(`job: again
image: none
request: {cpu: 2}
selectors: [{key: kubernetes.io/hostname, op: In, values: [n2, n3]}]
retry: {limit: 3, backoff: 1s}
`)
	p.is("again", "running")
	where := f.jobPods()[0].Spec.NodeName
	other := map[string]string{"n2": "n3", "n3": "n2"}[where]
	machine := f.dropNode(where)
	eventually(t, "the node is not ready", func() bool { return has(p.poise("node", "list"), "north/"+where, "not-ready") })
	f.create("default", "late", "1", onNode(where))
	f.create("default", "later", "1", onNode(where))
	p.kill() // the daemon sees the rest by its next start
	for _, pod := range f.jobPods() {
		f.now(pod.Name)
	}
	f.now(fmt.Sprint("on", int(where[1]-'1')))
	p = serve(t, p.dir)
	p.is("again", "north/"+other)
	p.is("again", "running")
	settled(t, p, a)

	// It falls silent with a pod, which holds its room; then it is gone with the node.
	if err := f.kubelet.Down(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	f.create("default", "silent", "1", onNode("n1"))
	settled(t, p, a)
	if err := f.kubelet.Up(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	f.runs("default", "silent")
	settled(t, p, a)

	// A machine comes back under the name of the one that was deleted.
	f.addNode(machine)
	f.runs("default", "late")
	f.runs("default", "later")
	settled(t, p, a)
}
