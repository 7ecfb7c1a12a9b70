package daemon

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// A pod that was cancelled while it waited stays so, whatever is told of it, also to a
// daemon that knows it by its history alone, until it is gone. It says so, and is
// evicted where a bind comes late.
func TestCancelledPodStaysSo(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	nodes := []poise.Node{kubeNode("a", 4000)}
	waits := func(cpu int64) kube.PodWaits { return kube.PodWaits{Job: podJob("p", cpu)} }
	tell(kube.Synced{Nodes: nodes, Waiting: []kube.PodWaits{waits(5000)}})
	if _, err := d.Cancel(t.Context(), "t", "p"); err != nil {
		t.Fatal(err)
	}
	said := func() {
		t.Helper()
		eventually(t, "it says so", func() bool {
			told, _ := h.heard("p")
			return slices.Contains(told, kube.Cancelled+" @ ")
		})
	}
	still := func(what string, changes ...kube.Change) {
		t.Helper()
		tell(changes...)
		if j, err := d.Job(t.Context(), "t", "p"); err != nil || j.State != client.Withdrawn || j.Detail != cancelled {
			t.Errorf("%s: %+v, %v, expected it cancelled", what, j, err)
		}
	}
	forget := func() {
		t.Helper()
		if err := d.durably(t.Context(), func(c *core) error { clear(c.cancelled); return nil }); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		clear(h.told)
		h.mu.Unlock()
	}
	said()
	still("changed", waits(1000))
	forget()
	still("read anew", kube.Synced{Nodes: nodes, Waiting: []kube.PodWaits{waits(1000)}})
	said()
	forget()
	bound := kube.PodBound{Job: podJob("p", 1000), Node: "k/a", Placement: "p99-p"}
	err := d.durably(t.Context(), func(c *core) error {
		if stray, err := c.stray(&bound); !stray || err != nil {
			t.Errorf("bound late: %t, %v, expected it to be evicted", stray, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	still("bound late", kube.Synced{Nodes: nodes, Bound: []kube.PodBound{bound}})
	tell(kube.PodGone{ID: "p"}, kube.PodWaits{Job: podJob("q", 1000)})
	reaches(t, d, "q", client.Running)
}
