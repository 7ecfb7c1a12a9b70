package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// nowhere is a kubeconfig of an API server that does not answer.
const nowhere = `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]}`

// podCluster runs a daemon with a cluster of Kubernetes whose changes a test tells,
// and whose binds a hook answers.
func podCluster(t *testing.T, says func(n int, b engine.Binding) error, more ...string) (*Daemon, *hook, func(...kube.Change)) {
	t.Helper()
	d, h := hooked(t, says, more...)
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, nowhere)
	k, err := d.openKube("k", client.Kubernetes{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.hands.close)
	return d, h, func(changes ...kube.Change) {
		t.Helper()
		if err := d.durably(t.Context(), func(c *core) error { return c.absorb(k, changes) }); err != nil {
			t.Fatal(err)
		}
	}
}

func kubeNode(name string, cpu int64) poise.Node {
	return poise.Node{
		Name: kube.NodeName("k", name), Cluster: "k", Capacity: resource.List{{Name: "cpu", Value: cpu}},
		Labels: []poise.Label{{Key: kube.ClusterLabel, Value: "k"}},
	}
}

func podJob(uid string, cpu int64) poise.Job {
	return poise.Job{
		ID: poise.JobID(uid), Name: "t/" + uid, Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
		Selectors: []poise.Selector{{Key: kube.ClusterLabel, Op: poise.In, Values: []string{"k"}}}, Pod: &poise.Pod{Cluster: "k", Space: "t"},
	}
}

func takes(uid, node string, cpu int64) poise.Occupant {
	return poise.Occupant{
		ID: uid, Name: "t/" + uid, Node: kube.NodeName("k", node), Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: cpu}}},
		Pod: &poise.Pod{Cluster: "k", Space: "t"},
	}
}

func idle(t *testing.T, d *Daemon, node string) string {
	t.Helper()
	n, err := d.Node(t.Context(), kube.NodeName("k", node))
	if err != nil {
		t.Fatal(err)
	}
	return string(n.Idle["cpu"])
}

// Pods wait, are bound with notes about the decision, and what others put on nodes
// counts until it is gone.
func TestPods(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	tell(kube.Synced{
		Nodes: []poise.Node{kubeNode("a", 4000)}, Occupants: []poise.Occupant{takes("ds", "a", 1000)},
		Waiting: []kube.PodWaits{{Job: podJob("p1", 3000)}, {Job: podJob("p2", 1000)}},
	})
	j := reaches(t, d, "p1", client.Running)
	if j.Node != "k/a" || j.Name != "t/p1" {
		t.Errorf("%+v", j)
	}
	b := h.last()
	if b.Placement != j.Placement || b.Job != "p1" || b.Notes["decision"] == "" || b.Notes["policy"] != "idle-balance" || b.Notes["loss"] == "" {
		t.Errorf("binding %+v", b)
	}
	waits := func(uid, why string) {
		t.Helper()
		eventually(t, why, func() bool {
			j, err := d.Job(t.Context(), "t", uid)
			if err != nil || j.Attempts == 0 {
				return false
			}
			if j.State != client.Waiting || j.Reason != why {
				t.Fatalf("%s: %s, expected %s", j.State, j.Reason, why)
			}
			return true
		})
	}
	waits("p2", "fits, but not now: not enough idle (cpu)")
	if got := idle(t, d, "a"); got != "0" {
		t.Errorf("idle %s", got)
	}
	tell(kube.PodGone{ID: "ds"})
	reaches(t, d, "p2", client.Running)
	if share, err := d.Share(t.Context(), "t"); err != nil || share.Tenant != "t" {
		t.Errorf("%+v, %v, expected the namespace to be a tenant", share, err)
	}
	// A node that others fill beyond what it has.
	tell(kube.NodeSeen{Node: kubeNode("b", 4000)}, kube.PodOccupies{Occupant: takes("x", "b", 9000)}, kube.PodWaits{Job: podJob("p3", 1)})
	if got := idle(t, d, "b"); got != "-5" {
		t.Errorf("idle %s", got)
	}
	tell(kube.PodGone{ID: "p3"})
	if j := reaches(t, d, "p3", client.Withdrawn); j.Detail != "its pod is gone" {
		t.Errorf("%+v", j)
	}
	// A node that goes takes its pods along: nothing can put them elsewhere.
	tell(kube.NodeGone{Name: "k/a"})
	if j := reaches(t, d, "p1", client.Lost); j.Detail != "node k/a left" {
		t.Errorf("%+v", j)
	}
}

// A pod that Poise must not place, or that another scheduler took, is no job any
// more.
func TestPodsOfOthers(t *testing.T) {
	d, _, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	big := podJob("p1", 5000)
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}, Waiting: []kube.PodWaits{{Job: big}, {Job: podJob("no", 1), Refused: []string{"uses resource claims"}}}})
	if _, err := d.Job(t.Context(), "t", "no"); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected no job", err)
	}
	tell(kube.PodWaits{Job: big, Refused: []string{"uses resource claims"}})
	if j := reaches(t, d, "p1", client.Withdrawn); j.Detail != "not for Poise to place: uses resource claims" {
		t.Errorf("%+v", j)
	}
	tell(kube.PodWaits{Job: podJob("p2", 5000)}, kube.PodOccupies{Occupant: takes("p2", "a", 5000)})
	if j := reaches(t, d, "p2", client.Withdrawn); j.Detail != "another scheduler has put its pod on node k/a" {
		t.Errorf("%+v", j)
	}
	if got := idle(t, d, "a"); got != "-1" {
		t.Errorf("idle %s", got)
	}
}

// A bind that the API server refuses is forgotten: the job ends with its pod, or
// waits again.
func TestPodBindRefused(t *testing.T) {
	f := func(kind poise.Kind, want client.JobState, reason string) {
		t.Helper()
		d, h, tell := podCluster(t, func(n int, b engine.Binding) error {
			if n > 1 {
				return nil
			}
			return &poise.Error{Kind: kind, Op: "bind", Detail: "no"}
		})
		tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}, Waiting: []kube.PodWaits{{Job: podJob("p", 1000)}}})
		j := reaches(t, d, "p", want)
		if j.Detail != reason {
			t.Errorf("%s: %+v", kind, j)
		}
		if want == client.Running && (len(h.bound()) != 2 || h.bound()[0] == h.bound()[1]) {
			t.Errorf("binds %v, expected two placements", h.bound())
		}
	}
	f(poise.NotFound, client.Withdrawn, "its pod is gone")
	f(poise.Conflict, client.Running, "")
}

// A cluster that is lost gets nothing new, and is the same again when it is back;
// what was missed is made up for.
func TestClusterLost(t *testing.T) {
	d, _, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	sick := kubeNode("sick", 4000)
	sick.NotReady = true
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000), sick}, Waiting: []kube.PodWaits{{Job: podJob("p1", 1000)}}})
	reaches(t, d, "p1", client.Running)
	ready := func(want string) {
		t.Helper()
		got := ""
		for _, name := range []string{"a", "sick"} {
			n, err := d.Node(t.Context(), "k/"+name)
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf("%s %s ", name, n.State)
		}
		if got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
	ready("a ready sick not-ready ")
	tell(kube.Lost{Reason: "nodes: no route"})
	ready("a not-ready sick not-ready ")
	tell(kube.NodeSeen{Node: kubeNode("sick", 4000)})
	ready("a not-ready sick not-ready ")
	tell(kube.PodWaits{Job: podJob("p2", 1000)})
	if j, err := d.Job(t.Context(), "t", "p2"); err != nil || j.State != client.Waiting {
		t.Errorf("%+v, %v", j, err)
	}
	tell(kube.Back{})
	ready("a ready sick ready ")
	p2 := reaches(t, d, "p2", client.Running)
	// The next reading is the whole truth: a is gone, p2 is where it was put, and of p3
	// nothing was known.
	placed := kube.PodBound{Job: podJob("p2", 1000), Node: p2.Node, Placement: p2.Placement}
	other := kube.PodBound{Job: podJob("p3", 2000), Node: "k/sick", Placement: "p7-p3"}
	nodes := []poise.Node{kubeNode("sick", 4000)}
	if p2.Node == "k/a" {
		nodes = append(nodes, kubeNode("a", 4000))
	}
	tell(kube.Synced{Nodes: nodes, Bound: []kube.PodBound{placed, other}})
	if j := reaches(t, d, "p2", client.Running); j.Placement != p2.Placement {
		t.Errorf("%+v, expected it untouched", j)
	}
	if got := idle(t, d, "sick"); got != "2" && got != "1" {
		t.Errorf("idle %s, expected that of p3 taken", got)
	}
}

// A pod that is told to end is known to be, whether it is a job's or one of which
// nothing is known.
func TestPodsThatEnd(t *testing.T) {
	d, _, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}, Waiting: []kube.PodWaits{{Job: podJob("p", 1000)}}})
	bound := kube.PodBound{Job: podJob("p", 1000), Node: "k/a", Placement: reaches(t, d, "p", client.Running).Placement}
	stray := kube.PodBound{Job: podJob("q", 1000), Node: "k/a", Placement: "p9-q"}
	f := func(want bool) {
		t.Helper()
		for range 2 {
			bound.Ending, stray.Ending = want, want
			tell(bound, stray)
			err := d.durably(t.Context(), func(c *core) error {
				s := c.loop.State()
				if p, q := s.Job("p").Task().Ending, s.Occupant("q").Ending; p != want || q != want {
					t.Errorf("p ends: %t, q: %t, expected %t", p, q, want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	f(false)
	f(true)
}

// A pod that runs by a placement that this history does not know, as after the
// history was lost, is taken over as the job that it was: it holds what it holds, can
// be cancelled, and ends. A stray of another engine is evicted.
func TestUnknownPlacementGoesOn(t *testing.T) {
	d, h, tell := podCluster(t, func(int, engine.Binding) error { return nil })
	bound := kube.PodBound{Job: podJob("p", 3000), Node: "k/a", Placement: "p9-p", Created: 7}
	tell(kube.Synced{Nodes: []poise.Node{kubeNode("a", 4000)}, Bound: []kube.PodBound{bound}})
	if got := idle(t, d, "a"); got != "1" {
		t.Errorf("idle %s", got)
	}
	if j := reaches(t, d, "p", client.Starting); j.Node != "k/a" || j.Placement != "p9-p" || j.Submitted.UnixMilli() != 7 {
		t.Errorf("%+v", j)
	}
	status := func(from binder, placement string, state engine.State) {
		t.Helper()
		err := d.durably(t.Context(), func(c *core) error {
			c.status(from, engine.Status{Placement: placement, State: state})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	status(&kubeCluster{}, "p8-q", engine.Running) // it occupies its node, and is no stray
	status(h, "p9-p", engine.Running)
	reaches(t, d, "p", client.Running)
	tell(bound)
	status(h, "p9-p", engine.Lost)
	reaches(t, d, "p", client.Lost)
	tell(kube.PodGone{ID: "p"})
	if got := idle(t, d, "a"); got != "4" {
		t.Errorf("idle %s", got)
	}
	status(h, "p7", engine.Running)
	eventually(t, "eviction", func() bool {
		_, ends := h.heard("")
		return slices.Contains(ends, "p7")
	})
}
