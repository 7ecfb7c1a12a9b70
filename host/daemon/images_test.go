package daemon

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Placed by an image alone: what the engine hears, what of it is seen in the cluster,
// and what a job without one may not do.
func TestJobsWithImages(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	node := kubeNode("a", 4000)
	node.Capacity = append(node.Capacity, resource.Amount{Name: "pods", Value: 2000})
	tell(kube.Synced{Nodes: []poise.Node{node}})
	submit := func(name, image string) client.Job {
		t.Helper()
		jobs, err := d.Submit(t.Context(), "t", []client.JobSpec{{
			Name: name, Image: image, Request: map[string]client.Quantity{"cpu": "1"}, Command: []string{"true"}, Labels: map[string]string{"team": "x"},
		}}, "")
		if err != nil {
			t.Fatal(err)
		}
		return jobs[0]
	}
	plain, first, second := submit("plain", ""), submit("first", "busybox:1"), submit("second", "busybox:1")
	j := reaches(t, d, first.ID, client.Running)
	if got := reaches(t, d, second.ID, client.Running).Placement; got != h.last().Placement {
		t.Errorf("%s, and %s was bound last", got, h.last().Placement)
	}
	if b := h.last(); b.Image != "busybox:1" || fmt.Sprint(b.Labels) != "[{team x}]" || b.Notes["decision"] == "" || b.Begun {
		t.Errorf("%+v", b)
	}
	third := submit("third", "busybox:1")
	if j.Spec.Image != "busybox:1" || len(j.Spec.Selectors) > 0 || j.Node != "k/a" {
		t.Errorf("%+v", j)
	}
	// The node has room for two pods, and for no process.
	if got := reaches(t, d, third.ID, client.Waiting); got.Node != "" {
		t.Errorf("%s is on %s", got.Name, got.Node)
	}
	if got := reaches(t, d, plain.ID, client.Running); got.Node != "n0" {
		t.Errorf("%s is on %s", got.Name, got.Node)
	}
	// Its pod is no occupant, one of a placement that nobody knows is, until it is gone.
	tell(kube.PodBound{Job: podJob("u1", 1000), Node: "k/a", Placement: j.Placement, Of: poise.JobID(first.ID)})
	if got := idle(t, d, "a"); got != "2" {
		t.Errorf("idle cpu %s, expected 2", got)
	}
	tell(kube.PodBound{Job: podJob("u2", 1000), Node: "k/a", Placement: "p9-before", Of: "before"})
	if got := idle(t, d, "a"); got != "1" {
		t.Errorf("idle cpu %s, expected 1", got)
	}
	tell(kube.PodGone{ID: "u2"})
	if got := idle(t, d, "a"); got != "2" {
		t.Errorf("idle cpu %s, expected 2", got)
	}
	_, err := d.Logs(t.Context(), "t", "first", client.LogOptions{Stream: "stderr"})
	if poise.KindOf(err) != poise.Invalid {
		t.Errorf("%v, expected one stream alone", err)
	}
	if _, err := d.Logs(t.Context(), "t", "first", client.LogOptions{}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected a cluster that has left", err)
	}
}
