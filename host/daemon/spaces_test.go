package daemon

import (
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// A pod keeps away from a job that runs as a pod in its namespace, wherever that is
// for the job's tenant; a reading anew and a leave of the cluster set it right.
func TestPodsKeepAwayFromJobs(t *testing.T) {
	d, _, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	node := kubeNode("a", 4000)
	node.Capacity = append(node.Capacity, resource.Amount{Name: "pods", Value: 9000})
	tell(kube.Synced{Nodes: []poise.Node{node}, Spaces: []kube.SpaceOf{{Tenant: "t", Space: "old"}}})
	tell(kube.Synced{Nodes: []poise.Node{node}, Spaces: []kube.SpaceOf{{Tenant: "t", Space: "theirs"}, {Tenant: "x", Space: "y"}}})
	tell(kube.SpaceOf{Tenant: "x"})
	jobs, err := d.Submit(t.Context(), "t", []client.JobSpec{{
		Name: "j", Image: "busybox:1", Request: map[string]client.Quantity{"cpu": "1"}, Labels: map[string]string{"team": "x"},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	reaches(t, d, jobs[0].ID, client.Running)
	away := func(uid, space string) kube.PodWaits {
		j := podJob(uid, 1000)
		j.Pod.Rules = []poise.PodRule{{
			Key: kube.ClusterLabel, Apart: true, Spaces: []string{space}, Labels: []poise.Selector{{Key: "team", Op: poise.In, Values: []string{"x"}}},
		}}
		return kube.PodWaits{Job: j}
	}
	tell(away("p1", "theirs"), away("p2", "t"))
	reaches(t, d, "p2", client.Running)
	eventually(t, "p1 waits for the job", func() bool {
		j, err := d.Job(t.Context(), "t", "p1")
		return err == nil && j.State == client.Waiting && j.Reason == "fits, but not now: "+poise.NearPods.String()
	})
	if err := d.durably(t.Context(), func(c *core) error { return c.spacesOf("k", nil) }); err != nil {
		t.Fatal(err)
	}
	err = d.durably(t.Context(), func(c *core) error {
		if got := c.loop.State().Spaces("k"); got != nil {
			t.Errorf("%v is kept of a cluster that left", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
