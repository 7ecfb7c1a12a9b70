package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// faulty is a fleet that a daemon reaches through a proxy, and who looks on.
type faulty struct {
	*fleet
	*proxy
	*audit
	dir string
	p   *program
}

func newFaulty(t *testing.T, nodes ...string) *faulty {
	t.Helper()
	f := newFleet(t, nodes...)
	x := &faulty{fleet: f, audit: newAudit(f, "north"), proxy: newProxy(t, f.plane.Client(cluster.Admin)), dir: t.TempDir()}
	x.p = serve(t, x.dir)
	x.p.poise("cluster", "join", "north", "--kubeconfig", x.kubeconfig())
	t.Cleanup(func() {
		if t.Failed() {
			jobs, _ := x.p.try("job", "list")
			nodes, _ := x.p.try("node", "list")
			t.Logf("%s\n%s", jobs, nodes)
		}
	})
	return x
}

// restart kills the daemon and starts it again.
func (x *faulty) restart() {
	x.fleet.t.Helper()
	x.p.kill()
	x.p = serve(x.fleet.t, x.dir)
}

// runFor has a pod end by itself.
func runFor(d time.Duration) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Annotations = map[string]string{"kubelet.test/run-for": d.String()} }
}

// onNode has a pod go to a node and no other.
func onNode(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: name} }
}

// A bind that fails keeps what it holds of its node while it is tried again, and
// gives it back once when it will not be; one whose answer is lost is known again.
func TestBindsThatFail(t *testing.T) {
	t.Parallel()
	x := newFaulty(t, "n1", "n2")
	const bind = "create pods/binding"
	to := func(pod string, f func(nth int) fault) {
		x.by(func(c call) fault {
			if c.right == bind && strings.Contains(c.path, "/"+pod+"/") || c.right == "create pods" && pod == "" {
				return f(c.nth)
			}
			return fault{}
		})
	}
	tried := func(pod string, n int) {
		t.Helper()
		eventually(t, fmt.Sprint(n, " tries to bind ", pod), func() bool { return x.times(bind, "/"+pod+"/") >= n })
	}

	// Its answer is lost again and again.
	to("unheard", func(nth int) fault { return fault{drop: nth < 4} })
	x.create("default", "unheard", "3", onNode("n1"))
	x.runs("default", "unheard")
	settled(t, x.p, x.audit)

	// The API server fails: the pod keeps its place before one that comes later.
	x.fleet.delete("default", "unheard")
	to("first", func(nth int) fault {
		if nth < 6 {
			return fault{code: []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusGatewayTimeout}[nth%3]}
		}
		return fault{}
	})
	x.create("default", "first", "3", onNode("n1"))
	tried("first", 2)
	x.create("default", "second", "3", onNode("n1"))
	x.runs("default", "first")
	settled(t, x.p, x.audit)
	if node := x.fleet.pod("default", "second").Spec.NodeName; node != "" {
		t.Errorf("second is on %s, expected it to wait", node)
	}

	// Why a pod waits is written at last.
	x.by(func(c call) fault {
		if c.right == "patch pods/status" && c.nth < 3 {
			return fault{code: http.StatusInternalServerError}
		}
		return fault{}
	})
	for i := range 4 {
		x.create("default", fmt.Sprint("giant", i), "64")
	}
	settled(t, x.p, x.audit)
	x.by(nil)
	x.create("default", "giant4", "64")
	x.restart()
	x.create("default", "giant5", "64")
	settled(t, x.p, x.audit)

	// It is on its way when its pod goes, and the room is free for the next one.
	x.fleet.delete("default", "first")
	x.runs("default", "second")
	to("third", func(int) fault { return fault{before: 2 * time.Second} })
	x.create("default", "third", "3", onNode("n2"))
	tried("third", 1)
	x.now("third")
	x.create("default", "fourth", "3", onNode("n2"))
	x.runs("default", "fourth")
	settled(t, x.p, x.audit)

	// Its node goes meanwhile: it waits again, and says why.
	x.fleet.delete("default", "fourth")
	to("fifth", func(int) fault { return fault{code: http.StatusInternalServerError} })
	x.create("default", "fifth", "3", onNode("n2"))
	tried("fifth", 2)
	x.dropNode("n2")
	settled(t, x.p, x.audit)
	x.by(nil)

	// The API server hears of a job's pod after everybody has stopped waiting for it.
	x.fleet.delete("default", "second")
	to("", func(nth int) fault {
		if nth == 0 {
			return fault{before: 12 * time.Second}
		}
		return fault{lose: nth < 5}
	})
	x.p.submit("late", "1", "run-for=100ms")
	x.p.is("late", "succeeded")
	x.p.submit("later", "1", "run-for=100ms")
	x.p.is("later", "succeeded")
	settled(t, x.p, x.audit)

	// A job is cancelled whose pod nobody knows to be there.
	x.hold(true)
	x.by(func(c call) fault { return fault{drop: c.right == "create pods", lose: c.right == "get pods"} })
	x.p.submit("cancelled", "1")
	eventually(t, "three pods of jobs", func() bool { return len(x.jobPods()) == 3 })
	_, _ = x.p.try("job", "cancel", "cancelled") // it may be refused, and comes all the same
	x.by(nil)
	x.hold(false)
	x.p.is("cancelled", "failed")
	settled(t, x.p, x.audit)
}
