package daemon

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// Pods that ask for the same are tried as one, and each of them says why it waits, also
// one that comes later, once, and again where it is another reason; what could not be
// written is written later.
func TestPodsSayWhyTheyWait(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	says := func(why ...string) {
		t.Helper()
		for i := range why {
			why[i] += " @ "
		}
		for _, pod := range []string{"p1", "p2", "p3", "late"} {
			var told []string
			eventually(t, pod+" says why", func() bool {
				told, _ = h.heard(pod)
				return len(told) > 0 && told[len(told)-1] == why[len(why)-1]
			})
			if pod != "late" && !slices.Equal(told, why) {
				t.Errorf("%s: %q, expected %q", pod, told, why)
			}
		}
	}
	h.mu.Lock()
	h.untold = 5
	h.mu.Unlock()
	tell(kube.Synced{
		Nodes:   []poise.Node{kubeNode("a", 4000)},
		Waiting: []kube.PodWaits{{Job: podJob("p1", 5000)}, {Job: podJob("p2", 5000)}, {Job: podJob("p3", 5000)}},
	})
	tell(kube.PodWaits{Job: podJob("late", 5000)})
	const small = "never fits the present nodes: node too small (cpu)"
	says(small)
	tell(kube.NodeSeen{Node: kubeNode("a", 6000)}, kube.PodOccupies{Occupant: takes("x", "a", 3000)})
	says(small, "fits, but not now: not enough idle (cpu)")
	eventually(t, "nothing is left to say", func() (none bool) {
		_ = d.do(t.Context(), func(c *core) error {
			none = len(c.says) == 0 && len(c.silent) == 0
			return nil
		})
		return none
	})
}
