package daemon

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// Jobs of a tenant are spread over two clusters by a policy of its own. The API server
// of one is killed, and nothing new goes there; the other goes on. When it is back,
// what ended meanwhile is known, nothing is lost and nothing has run twice; the
// daemon is killed on the way.
func TestClustersUnderAPolicy(t *testing.T) {
	t.Parallel()
	north, south := newFleet(t, "n1", "n3"), newFleet(t, "s2", "s4")
	for node, f := range map[string]*fleet{"n1": north, "n3": north, "s2": south, "s4": south} {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"zone":%q}}}`, node[:1])
		if _, err := f.api.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := newAudit(north, "north"), newAudit(south, "south")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", north.plane.Kubeconfig(cluster.Admin))
	p.poise("cluster", "join", "south", "--kubeconfig", south.plane.Kubeconfig(cluster.Admin))
	p.poise("plugin", "push", filepath.Join("..", "..", "..", "plugins", "spread-domains", "spread-domains.wasm"))
	p.poise("plugin", "activate", "spread-domains", "--param", "mode=soft")
	const each = 8
	for i := range each {
		p.submit(name("first", 0, i), "500m", "run-for=5s")
		p.is(name("first", 0, i), "running")
	}
	if n, s := len(north.jobPods()), len(south.jobPods()); n != each/2 || s != each/2 {
		t.Errorf("%d pods in north and %d in south, expected %d in each", n, s, each/2)
	}
	settled(t, p, a, b)

	north.plane.KillAPIServer()
	for i := range each {
		p.submit(name("second", 0, i), "500m", "run-for=500ms")
	}
	p.kill()
	p = serve(t, p.dir)
	eventually(t, "south goes on alone", func() bool { return len(south.jobPods()) > each/2 })
	time.Sleep(5 * time.Second) // what ran in north has ended, unseen
	if err := north.plane.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.ended("first", each)
	p.ended("second", each)
	settled(t, p, a, b)
	once(t, north, south)
	if n := len(north.jobPods()) + len(south.jobPods()); n != 2*each {
		t.Errorf("%d pods, expected %d", n, 2*each)
	}
}

// A cluster with more room in all, and less on each node, does not get what fits on
// no node of it.
func TestLargestNode(t *testing.T) {
	t.Parallel()
	many := newFleetOf(t, cluster.ForTest(t, cluster.Config{}), "2", "n1", "n2", "n3", "n4", "n5")
	big := newFleetOf(t, cluster.ForTest(t, cluster.Config{}), "4", "s1")
	a, b := newAudit(many, "many"), newAudit(big, "big")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "many", "--kubeconfig", many.plane.Kubeconfig(cluster.Admin))
	p.poise("cluster", "join", "big", "--kubeconfig", big.plane.Kubeconfig(cluster.Admin))
	p.submit("large", "3")
	p.is("large", "big/s1")
	p.submit("second", "3")
	for i := range 5 {
		p.submit(fmt.Sprint("small", i), "2")
		p.is(fmt.Sprint("small", i), "many/n")
	}
	settled(t, p, a, b)
	p.poise("job", "cancel", "large")
	p.is("second", "big/s1")
	settled(t, p, a, b)
}
