package preempt

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// podOf makes a job a pod with a label app.
func podOf(j poise.Job, app string, pod poise.Pod) poise.Job {
	pod.Cluster, pod.Space = "k", "t"
	j.Pod, j.Labels = &pod, []poise.Label{{Key: "app", Value: app}}
	return j
}

// A node of which somebody has the port that a pod wants is no node for it, however
// idle it is: those who end elsewhere count.
func TestPortsStay(t *testing.T) {
	w := newWorld(t)
	ports := poise.Pod{Ports: []poise.Port{{Protocol: "TCP", Number: 80}}}
	w.node("n1", 8, 0)
	w.node("n2", 8, 0)
	w.runs("n1", podOf(job("web", "t!0", 4, 0), "web", ports))
	w.runs("n2", podOf(job("low", "t!0", 8, 0), "low", poise.Pod{}))
	w.waits(podOf(job("high", "t!9", 4, 0), "web", ports))
	if got := w.find(byPriority, "high"); got != "low on n2" {
		t.Errorf("%s, expected low on n2", got)
	}
	w.waits(podOf(job("higher", "t!9", 8, 0), "web", ports))
	if got := w.find(byPriority, "higher"); got != "low on n2" {
		t.Errorf("%s, expected low on n2, as web has the port of n1", got)
	}
}

// What a pod has to be near does not end for it, and rules that keep it off a node
// do so however many end there.
func TestRulesOfPodsHold(t *testing.T) {
	w := newWorld(t)
	app := func(value string) []poise.Selector {
		return []poise.Selector{{Key: "app", Op: poise.In, Values: []string{value}}}
	}
	w.node("n1", 8, 0, poise.Label{Key: "host", Value: "n1"})
	w.node("n2", 8, 0, poise.Label{Key: "host", Value: "n2"})
	w.runs("n1", podOf(job("db", "t!0", 4, 0), "db", poise.Pod{}))
	w.runs("n1", podOf(job("low", "t!1", 4, 0), "low", poise.Pod{}))
	w.runs("n2", podOf(job("idle", "t!0", 8, 0), "low", poise.Pod{}))
	w.waits(podOf(job("near", "t!9", 4, 0), "near", poise.Pod{Rules: []poise.PodRule{{Key: "host", Labels: app("db")}}}))
	f := func(id, want string) {
		t.Helper()
		j := w.Job(poise.JobID(id))
		if got := w.find(byPriority, id, sched.NewPodBar(w.View(), w.PodKinds(), j)); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
	f("near", "low on n1")
	w.waits(podOf(job("large", "t!9", 8, 0), "near", poise.Pod{Rules: []poise.PodRule{{Key: "host", Labels: app("db")}}}))
	f("large", "none")
	w.waits(podOf(job("apart", "t!9", 4, 0), "near", poise.Pod{Rules: []poise.PodRule{{Key: "host", Apart: true, Labels: app("db")}}}))
	f("apart", "idle on n2")
}

// Who was spared is not asked again for a while; others are.
func TestSparedRest(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8, 0)
	w.node("n2", 8, 0)
	w.runs("n1", job("a", "t!0", 8, 0))
	w.runs("n2", job("b", "t!1", 8, 0))
	w.waits(job("high", "t!9", 8, 0))
	f := func(want string) {
		t.Helper()
		if got := w.find(byPriority, "high"); got != want {
			t.Errorf("at %d: %s, expected %s", w.now, got, want)
		}
	}
	f("a on n1")
	w.do(poise.JobPreempted{Job: "a", By: "high"}, poise.JobSpared{Job: "a", Until: 50})
	f("b on n2, again at 50")
	w.do(poise.JobPreempted{Job: "b", By: "high"}, poise.JobSpared{Job: "b", Until: 60})
	f("none, again at 50")
	w.now = 50
	f("a on n1, again at 60")
}

// What others put on a node never ends for a job.
func TestOccupantsStay(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8, 0)
	w.runs("n1", job("low", "t!0", 4, 0))
	w.do(poise.NodeOccupied{Occupant: poise.Occupant{
		ID: "agent", Name: "agent", Node: "n1", Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 4}}}, Pod: &poise.Pod{Cluster: "k", Space: "t"},
	}})
	w.waits(job("high", "t!9", 4, 0))
	w.waits(job("large", "t!9", 8, 0))
	if got := w.find(byPriority, "high"); got != "low on n1" {
		t.Errorf("%s, expected low on n1", got)
	}
	if got := w.find(byPriority, "large"); got != "none" {
		t.Errorf("%s, expected none", got)
	}
}
