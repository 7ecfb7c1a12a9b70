package loop

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// kubeNode joins a node of a cluster of Kubernetes.
func (d *driver) kubeNode(name, cluster string, cpu int64) {
	d.apply(poise.NodeJoined{Node: poise.Node{
		Name: name, Cluster: cluster, Capacity: resource.List{{Name: "cpu", Value: cpu}},
		Labels: []poise.Label{{Key: "host", Value: name}, {Key: poise.ClusterLabel, Value: cluster}},
	}})
}

func (d *driver) node(id poise.JobID) string {
	if j := d.loop.State().Job(id); j != nil && j.Task() != nil {
		return j.Task().Node(d.loop.State().View())
	}
	return ""
}

// podOf is a pod of cluster c in namespace s, with rules about pods of some app.
func podOf(id string, rules ...poise.PodRule) poise.Job {
	return poise.Job{
		ID: poise.JobID(id), Name: id, Tenant: "here", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 1}}},
		Selectors: []poise.Selector{{Key: poise.ClusterLabel, Op: poise.In, Values: []string{"c"}}},
		Pod:       &poise.Pod{Cluster: "c", Space: "s", Rules: rules},
	}
}

// jobWithImage becomes a pod of an app wherever it goes.
func jobWithImage(id, app string) poise.Job {
	j := podOf(id)
	j.Selectors, j.Pod = []poise.Selector{{Key: poise.ClusterLabel, Op: poise.Exists}}, nil
	j.Labels = []poise.Label{{Key: "app", Value: app}}
	return j
}

func away(app, space string) poise.PodRule {
	return poise.PodRule{Key: "host", Apart: true, Spaces: []string{space}, Labels: []poise.Selector{{Key: "app", Op: poise.In, Values: []string{app}}}}
}

// Rules of pods are about jobs that run as pods as well: such a job is kept away from
// those that keep away from it, in its tenant's namespace of each cluster, and keeps
// others away.
func TestRulesSeeJobsAsPods(t *testing.T) {
	d := newDriver(t)
	d.kubeNode("a", "c", 9)
	d.kubeNode("b", "c", 1)
	d.kubeNode("z", "other", 1)
	f := func(j poise.Job, want string) {
		t.Helper()
		d.apply(poise.JobSubmitted{Job: j})
		d.quiet()
		if got := d.node(j.ID); got != want {
			t.Errorf("%s is on %q, expected %q", j.ID, got, want)
		}
	}
	occupant := func(id, node string, rules ...poise.PodRule) {
		d.apply(poise.NodeOccupied{Occupant: poise.Occupant{ID: id, Name: id, Node: node, Pod: &poise.Pod{Cluster: d.cluster(node), Space: "s", Rules: rules}}})
	}
	occupant("o", "a", away("x", "here"))
	occupant("p", "b", away("x", "other"))
	occupant("q", "z", away("x", "ns"))
	d.apply(poise.SpaceSet{Cluster: "other", Tenant: "here", Space: "ns"})
	f(jobWithImage("x1", "x"), "b") // not a, and not z, where its namespace is another one
	f(jobWithImage("x2", "x"), "")
	f(jobWithImage("y", "y"), "a") // no rule is about it
	d.apply(poise.NodeVacated{ID: "o"})
	if d.quiet(); d.node("x2") != "a" {
		t.Errorf("x2 is on %q, expected a", d.node("x2"))
	}
	// A pod that keeps away from x waits until x2 is gone.
	f(podOf("p1", away("x", "here")), "")
	d.apply(poise.JobFinished{Job: "x2"})
	if d.quiet(); d.node("p1") != "a" {
		t.Errorf("p1 is on %q, expected a", d.node("p1"))
	}
	// One that is to be near y1 waits until that comes.
	near := away("y1", "here")
	near.Apart = false
	f(podOf("p2", near), "")
	f(jobWithImage("y1", "y1"), "a")
	if d.quiet(); d.node("p2") != "a" {
		t.Errorf("p2 is on %q, expected a", d.node("p2"))
	}
}

func (d *driver) cluster(node string) string {
	row, _ := d.loop.State().Row(node)
	return d.loop.State().View().Cluster(row)
}

// A pod that is told to end does not count for those that are to spread.
func TestSpreadPassesOverWhatEnds(t *testing.T) {
	d := newDriver(t)
	d.kubeNode("a", "c", 9)
	d.kubeNode("b", "c", 1)
	web := func(id string) poise.Job {
		j := podOf(id)
		j.Labels = []poise.Label{{Key: "app", Value: "web"}}
		j.Pod.Spread = []poise.SpreadRule{{Key: "host", MaxSkew: 1, Labels: []poise.Selector{{Key: "app", Op: poise.Exists}}}}
		return j
	}
	d.apply(poise.NodeOccupied{Occupant: poise.Occupant{ID: "full", Name: "full", Node: "b", Request: podOf("").Request}})
	d.apply(poise.JobSubmitted{Job: web("first")})
	d.apply(poise.JobSubmitted{Job: web("second")})
	if d.quiet(); d.node("first") != "a" || d.node("second") != "" {
		t.Fatalf("on %q and %q, expected the second to wait for b", d.node("first"), d.node("second"))
	}
	d.apply(poise.JobEnding{Job: "first"})
	if d.quiet(); d.node("second") != "a" {
		t.Errorf("second is on %q, expected a", d.node("second"))
	}
}

// A job that becomes a pod rather goes where pods want it to be near.
func TestJobLeansToPods(t *testing.T) {
	f := func(want string, rules ...poise.PodRule) {
		t.Helper()
		d := newDriver(t)
		d.kubeNode("a", "c", 100)
		d.kubeNode("b", "c", 1)
		d.apply(poise.NodeOccupied{Occupant: poise.Occupant{ID: "o", Name: "o", Node: "b", Pod: &poise.Pod{Cluster: "c", Space: "s", Rules: rules}}})
		d.apply(poise.JobSubmitted{Job: jobWithImage("j", "x")})
		if d.quiet(); d.node("j") != want {
			t.Errorf("j is on %q, expected %q", d.node("j"), want)
		}
	}
	prefer := away("x", "here")
	prefer.Apart, prefer.Weight = false, 1
	f("a")
	f("b", prefer)
	prefer.Spaces = []string{"other"}
	f("a", prefer)
}

// The start of a gang of pods helps those that are to be near them.
func TestGangOfPodsHelpsNear(t *testing.T) {
	d := newDriver(t)
	d.kubeNode("a", "c", 9)
	near := poise.PodRule{Key: "host", Labels: []poise.Selector{{Key: "app", Op: poise.Exists}}}
	d.apply(poise.JobSubmitted{Job: podOf("p", near)})
	if d.quiet(); d.node("p") != "" {
		t.Fatal("p is near nothing, and runs")
	}
	for i := range int32(2) {
		m := podOf([]string{"m0", "m1"}[i])
		m.Labels = []poise.Label{{Key: "app", Value: "x"}}
		m.Tasks, m.Gang = 2, &poise.Gang{ID: "g", Size: 2, Index: i}
		d.apply(poise.JobSubmitted{Job: m})
	}
	if d.quiet(); d.node("m0") != "a" || d.node("p") != "a" {
		t.Errorf("m0 on %q, p on %q, expected both on a", d.node("m0"), d.node("p"))
	}
}
