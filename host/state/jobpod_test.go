package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// imageJob is a job that becomes a pod wherever it runs.
func imageJob(id string, labels ...poise.Label) poise.Job {
	j := job(id, poise.Request{})
	j.Selectors, j.Labels = []poise.Selector{{Key: poise.ClusterLabel, Op: poise.Exists}}, labels
	return j
}

// kinds says what of which kind is on which row.
func kinds(s *State) string {
	var all []string
	for _, k := range s.PodKinds() {
		k.Each(func(row uint32, n, ending int32) {
			all = append(all, fmt.Sprintf("%d of %s/%s %v on %d, %d end", n, k.Pod.Cluster, k.Pod.Space, k.Labels, row, ending))
		})
	}
	return strings.Join(all, "; ")
}

// A job that runs as a pod counts as one, in the namespace that its tenant has where it
// went: one that is set later is for those that come later.
func TestJobBecomesPod(t *testing.T) {
	d := newDriver(t, 0)
	f := func(want string) {
		t.Helper()
		for _, s := range []*State{d.State, writtenDown(t, d.State, 0)} {
			if got := kinds(s); got != want {
				t.Errorf("%s\nexpected\n%s", got, want)
			}
		}
	}
	node := func(name, cluster string) poise.Body {
		return poise.NodeJoined{Node: poise.Node{Name: name, Cluster: cluster}}
	}
	app := poise.Label{Key: "app", Value: "x"}
	d.do(t, node("a", "c"), node("b", "other"), submitted("plain", poise.Request{}), placed("plain", "a"))
	d.do(t, poise.JobSubmitted{Job: imageJob("j", app, poise.Label{Key: "not a key"})}, poise.JobSubmitted{Job: imageJob("k")})
	f("")
	d.do(t, placed("j", "a"))
	j := "1 of c/t [{app x} {poise.dev/job j}] on 0, 0 end"
	f(j)
	d.do(t, poise.SpaceSet{Cluster: "c", Tenant: "t", Space: "ns"}, placed("k", "a"))
	f(j + "; 1 of c/ns [{poise.dev/job k}] on 0, 0 end")
	d.do(t, poise.JobRequeued{Job: "k"}, placed("k", "b"))
	f(j + "; 1 of other/t [{poise.dev/job k}] on 1, 0 end")
	d.refused(t, `end task of job "x": no such job`, poise.JobEnding{Job: "x"})
	d.do(t, poise.JobEnding{Job: "k"}, poise.JobEnding{Job: "k"}, poise.JobEnding{Job: "plain"})
	f(j + "; 1 of other/t [{poise.dev/job k}] on 1, 1 end")
	d.do(t, poise.JobRequeued{Job: "k"})
	d.refused(t, `end task of job "k": the job waits, expected a placed job`, poise.JobEnding{Job: "k"})
	d.do(t, placed("k", "b"))
	f(j + "; 1 of other/t [{poise.dev/job k}] on 1, 0 end")
	d.do(t, poise.JobEnding{Job: "k"}, poise.NodeLeft{Name: "b"})
	f(j)
	d.do(t, poise.JobFinished{Job: "k"}, poise.JobFinished{Job: "j"}, poise.SpaceSet{Cluster: "c", Tenant: "t"})
	f("")
	if n := len(d.podKinds.byKey); n != 0 || len(d.Spaces("c")) != 0 {
		t.Errorf("%d kinds and namespaces %v are kept", n, d.Spaces("c"))
	}
	d.refused(t, `set namespace of tenant "t": cluster: empty, expected a name`, poise.SpaceSet{Tenant: "t", Space: "s"})
	d.refused(t, `set namespace of tenant "": tenant: empty, expected a name`, poise.SpaceSet{Cluster: "c", Space: "s"})
}
