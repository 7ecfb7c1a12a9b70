package daemon

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// A cluster joins once, by whatever name.
func TestClusterJoinsOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	out, err := p.try("cluster", "join", "south", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin), "--scheduler-name", "other")
	if err == nil || !strings.Contains(out, `has joined as "north"`) {
		t.Errorf("%v: %s", err, out)
	}
	if out := p.poise("cluster", "list"); strings.Contains(out, "south") {
		t.Errorf("%s", out)
	}
	p.poise("cluster", "leave", "north")
	p.poise("cluster", "join", "south", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
}
