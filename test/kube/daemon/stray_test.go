package daemon

import (
	"encoding/json"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// The pod of a job whose end came before its making, as of a write that was late on
// its way, is evicted: by the daemon that made it and by the next one.
func TestPodThatIsMadeTooLate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1")
	dir := t.TempDir()
	p := serve(t, dir)
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	p.poise("tenant", "create", "red")
	late := func(name string) func() {
		p.poise("job", "submit", "--tenant", "red", "--name", name, "--image", "none", "--cpu", "1")
		var job struct{ ID, State, Placement string }
		eventually(t, name+" has no namespace", func() bool {
			out, err := p.try("job", "get", name, "--tenant", "red", "-o", "json")
			return err == nil && json.Unmarshal([]byte(out), &job) == nil && job.State == "failed"
		})
		return func() {
			f.create("red", "poise-"+job.Placement, "1", func(pod *v1.Pod) {
				pod.Spec.NodeName = "n1"
				pod.Labels = map[string]string{"poise.dev/job": job.ID}
				pod.Annotations = map[string]string{"poise.dev/placement": job.Placement, "poise.dev/job-id": job.ID}
			})
		}
	}
	gone := func(what string) {
		t.Helper()
		eventually(t, what, func() bool { return len(f.jobPods()) == 0 })
	}
	first, second := late("first"), late("second")
	f.space("red")
	first()
	gone("the pod is evicted")
	p.kill()
	second()
	serve(t, dir)
	gone("the pod is evicted by the next daemon")
}
