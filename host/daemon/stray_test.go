package daemon

import (
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// A pod that was made for a job is one too many where the job has another placement,
// or has ended and never ran by this one.
func TestStrayPods(t *testing.T) {
	d, _, tell := podCluster(t, func(_ int, b engine.Binding) error {
		if b.Name == "never" {
			return &poise.Error{Kind: poise.Invalid, Op: "bind", Detail: "no namespace"}
		}
		return nil
	})
	node := kubeNode("a", 4000)
	node.Capacity = append(node.Capacity, resource.Amount{Name: "pods", Value: 9000})
	tell(kube.Synced{Nodes: []poise.Node{node}})
	submit := func(name string, state client.JobState) client.Job {
		t.Helper()
		jobs, err := d.Submit(t.Context(), "t", []client.JobSpec{{Name: name, Image: "busybox:1", Request: map[string]client.Quantity{"cpu": "1"}}}, "")
		if err != nil {
			t.Fatal(err)
		}
		return reaches(t, d, jobs[0].ID, state)
	}
	runs, never, ran := submit("runs", client.Running), submit("never", client.Failed), submit("ran", client.Running)
	if _, err := d.Cancel(t.Context(), "t", ran.ID); err != nil {
		t.Fatal(err)
	}
	reaches(t, d, ran.ID, client.Failed)
	f := func(want bool, of, placement string) {
		t.Helper()
		err := d.durably(t.Context(), func(c *core) error {
			got, err := c.stray(&kube.PodBound{Placement: placement, Of: poise.JobID(of)})
			if got != want {
				t.Errorf("%s by %s: %t, expected %t", of, placement, got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f(true, runs.ID, "p99-"+runs.ID)
	f(true, never.ID, placedLast(t, d, never.ID))
	f(false, never.ID, "p99-"+never.ID) // of another history
	f(false, ran.ID, placedLast(t, d, ran.ID))
	f(false, "unknown", "p99-unknown")
	f(false, "", "p99-u")
}

func placedLast(t *testing.T, d *Daemon, job string) string {
	t.Helper()
	places, err := d.store.Placements(t.Context(), job)
	if err != nil || len(places) == 0 {
		t.Fatalf("%d placements, %v", len(places), err)
	}
	return places[len(places)-1].ID
}
