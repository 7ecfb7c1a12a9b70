package daemon

import (
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// What becomes of a pod while its bind is under way counts once the bind is refused,
// though nothing has room for it then.
func TestPodChangesDuringItsBind(t *testing.T) {
	gone := kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}, Occupants: []poise.Occupant{takes("x", "a", 3000)}}
	full := kube.PodOccupies{Occupant: gone.Occupants[0]}
	f := func(state client.JobState, detail string, happens ...kube.Change) {
		t.Helper()
		bound, refuse := make(chan struct{}), make(chan struct{})
		d, _, tell := podCluster(t, func(n int, _ engine.Binding) error {
			if n > 1 {
				return nil
			}
			close(bound)
			<-refuse
			return &poise.Error{Kind: poise.Conflict, Op: "bind", Detail: "it is being deleted"}
		})
		tell(kube.Synced{Nodes: gone.Nodes, Waiting: []kube.PodWaits{{Job: podJob("p", 3000)}}})
		<-bound
		tell(happens...)
		if happens == nil {
			cancelled := make(chan error, 1)
			go func() {
				_, err := d.Cancel(t.Context(), "t", "p")
				cancelled <- err
			}()
			eventually(t, "the cancel", func() (stops bool) {
				_ = d.do(t.Context(), func(c *core) error {
					stops = c.jobs["p"].stop != ""
					return nil
				})
				return stops
			})
			defer func() {
				if err := <-cancelled; err != nil {
					t.Error(err)
				}
			}()
		}
		close(refuse)
		if j := reaches(t, d, "p", state); j.Detail != detail {
			t.Errorf("%+v, expected %q", j, detail)
		}
	}
	f(client.Withdrawn, "its pod is gone", full, kube.PodGone{ID: "p"})
	f(client.Withdrawn, "its pod is gone", gone)
	f(client.Running, "", full, kube.PodWaits{Job: podJob("p", 1000)})
	f(client.Running, "", kube.PodGone{ID: "p"}, kube.PodWaits{Job: podJob("p", 3000)})
	f(client.Failed, "cancelled")
}
