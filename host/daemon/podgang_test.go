package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// gangPods gives the pods of a gang, each with so much cpu.
func gangPods(id string, cpu int64, names ...string) []kube.Change {
	var all []kube.Change
	for i, name := range names {
		j := podJob(name, cpu)
		j.Tasks, j.Gang = int32(len(names)), &poise.Gang{ID: id, Name: "g", Size: int32(len(names)), Index: int32(i)}
		all = append(all, kube.PodWaits{Job: j})
	}
	return all
}

// A gang of pods starts together; while it waits each of its pods says why, and one
// that changes waits with the others as before.
func TestGangOfPods(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}})
	members := gangPods("k/1", 3000, "p1", "p2")
	tell(members...)
	for _, name := range []string{"p1", "p2"} {
		eventually(t, name+" says why", func() bool {
			told, _ := h.heard(name)
			return len(told) == 1 && strings.Contains(told[0], "fits, but not now") || len(told) == 1 && strings.Contains(told[0], "gang")
		})
	}
	changed := members[1].(kube.PodWaits)
	changed.Job.Labels = []poise.Label{{Key: "x", Value: "y"}}
	tell(changed)
	if j, err := d.Job(t.Context(), "t", "p1"); err != nil || j.State != client.Waiting {
		t.Errorf("%+v, %v, expected it to wait with the changed one", j, err)
	}
	tell(kube.NodeSeen{Node: kubeNode("b", 4000)})
	x, y := reaches(t, d, "p1", client.Running), reaches(t, d, "p2", client.Running)
	if x.Node == y.Node {
		t.Errorf("both on %s", x.Node)
	}
}

// Pods that wait for others of their group are no jobs, and say so once that lasts. A
// gang that a pod leaves is taken back.
func TestHeldPods(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}})
	var fire []func()
	if err := d.durably(t.Context(), func(c *core) error {
		c.after = func(_ time.Duration, f func()) { fire = append(fire, f) }
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	tell(kube.PodWaits{Job: podJob("p1", 1), Until: "others"}, kube.PodWaits{Job: podJob("p2", 1), Until: "others"}, kube.PodWaits{Job: podJob("p3", 1), Until: "others"})
	tell(slices.Concat(gangPods("k/1", 3000, "p2", "p3"), []kube.Change{})...)
	for _, f := range fire {
		f()
	}
	eventually(t, "p1 says why", func() bool { told, _ := h.heard("p1"); return slices.Equal(told, []string{"others @ "}) })
	if _, err := d.Job(t.Context(), "t", "p1"); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected no job", err)
	}
	if told, _ := h.heard("p2"); slices.Contains(told, "others @ ") {
		t.Errorf("p2 says %q, though it came to be a job", told)
	}
	tell(kube.PodGone{ID: "p3"}, kube.PodWaits{Job: podJob("p2", 1), Until: "others again"})
	for _, name := range []string{"p2", "p3"} {
		reaches(t, d, name, client.Withdrawn)
	}
	tell(gangPods("k/2", 1000, "p1", "p2")...)
	reaches(t, d, "p1", client.Running)
	reaches(t, d, "p2", client.Running)
}

// A large gang whose members change at once costs no more than as many jobs.
func TestManyHeldPods(t *testing.T) {
	d, _, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}})
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint("p", i))
	}
	index := func() (n uint64) {
		if err := d.durably(t.Context(), func(c *core) error { n = c.loop.State().Index(); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	tell(gangPods("k/1", 5000, names...)...)
	before := index()
	tell(gangPods("k/2", 5000, names[1:]...)...)
	if n := index() - before; n > 3*300 {
		t.Errorf("%d events for 300 pods", n)
	}
}
