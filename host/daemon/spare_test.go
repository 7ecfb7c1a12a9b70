package daemon

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// fullNodes gives two nodes that low pods fill, and the placements of these.
func fullNodes(t *testing.T, more ...string) (d *Daemon, h *hook, tell func(...kube.Change), cheap, dear string) {
	t.Helper()
	d, h, tell = podCluster(t, func(int, engine.Binding) error { return nil }, more...)
	dearer := podJob("dear", 4000)
	dearer.Priority = 1
	tell(kube.Synced{
		Nodes:   []poise.Node{kubeNode("a", 4000), kubeNode("b", 4000)},
		Waiting: []kube.PodWaits{{Job: podJob("cheap", 4000)}, {Job: dearer}},
	})
	cheap = reaches(t, d, "cheap", client.Running).Placement
	return d, h, tell, cheap, reaches(t, d, "dear", client.Running).Placement
}

func highPod() kube.PodWaits {
	high := podJob("high", 4000)
	high.Priority = 9
	return kube.PodWaits{Job: high}
}

// Without the setting nobody ends for a pod.
func TestPodsAreNotDisplacedByDefault(t *testing.T) {
	d, h, tell, _, _ := fullNodes(t)
	tell(highPod())
	eventually(t, "high was tried", func() bool { told, _ := h.heard("high"); return len(told) > 0 })
	if j, err := d.Job(t.Context(), "t", "high"); err != nil || j.State != client.Waiting {
		t.Errorf("%+v, %v", j, err)
	}
	if told, ends := h.heard("high"); len(ends) > 0 || !strings.HasSuffix(told[0], " @ ") {
		t.Errorf("%q, %q, expected no eviction and no node", told, ends)
	}
}

// The victim with the least priority is evicted; the node is named to the pod that
// gets it, and kept for it.
func TestPodDisplaces(t *testing.T) {
	d, h, tell, cheap, _ := fullNodes(t, "queue.preemption", "priority")
	on := reaches(t, d, "cheap", client.Running).Node
	tell(highPod())
	if j := reaches(t, d, "high", client.Running); j.Node != on {
		t.Errorf("on %s, expected %s", j.Node, on)
	}
	if j := reaches(t, d, "cheap", client.Lost); j.Detail != "evicted for job t/high" {
		t.Errorf("%+v", j)
	}
	told, ends := h.heard("high")
	if !slices.Equal(ends, []string{cheap}) || !slices.Contains(told, "fits, but not now: not enough idle (cpu) @ "+on) {
		t.Errorf("evicted %q, told %q", ends, told)
	}
}

// A victim that a budget keeps is let off, and another one ends; the pod is told of
// the other node then. With no other one, it is asked later and later.
func TestPodUnderABudget(t *testing.T) {
	d, h, tell, cheap, dear := fullNodes(t, "queue.preemption", "priority")
	h.mu.Lock()
	h.budgets = map[string]bool{cheap: true}
	h.mu.Unlock()
	on := reaches(t, d, "cheap", client.Running).Node
	tell(highPod())
	if j := reaches(t, d, "high", client.Running); j.Node == on {
		t.Errorf("on %s, where a pod is under a budget", j.Node)
	}
	if j := reaches(t, d, "dear", client.Lost); j.Detail != "evicted for job t/high" {
		t.Errorf("%+v", j)
	}
	if j, err := d.Job(t.Context(), "t", "cheap"); err != nil || j.State != client.Running || j.Reason != "" {
		t.Errorf("%+v, %v, expected it to run on", j, err)
	}
	told, ends := h.heard("high")
	if h.mu.Lock(); !slices.Equal(h.gave, []string{dear + " for job t/high"}) {
		t.Errorf("%q, expected dear alone to say for whom it ends", h.gave)
	}
	h.mu.Unlock()
	if ends[0] != cheap+" refused" || ends[len(ends)-1] != dear {
		t.Errorf("evicted %q", ends)
	}
	if i := slices.Index(told, "fits, but not now: not enough idle (cpu) @ "+on); i < 0 || !strings.HasSuffix(told[i+1], " @ ") {
		t.Errorf("told %q, expected node %s for a while", told, on)
	}
}

// Nobody is evicted any more for a pod that is gone, and a pod whose class has
// preemptionPolicy Never has nobody end.
func TestPodGivesUp(t *testing.T) {
	d, h, tell, cheap, dear := fullNodes(t, "queue.preemption", "priority")
	h.mu.Lock()
	h.budgets = map[string]bool{cheap: true, dear: true}
	h.mu.Unlock()
	never := highPod()
	never.Job.ID, never.Job.Name, never.Job.Pod = "never", "t/never", &poise.Pod{Cluster: "k", Space: "t", NoPreemption: true}
	tell(never)
	eventually(t, "never was tried", func() bool { told, _ := h.heard("never"); return len(told) > 0 })
	if _, ends := h.heard("never"); len(ends) > 0 {
		t.Errorf("evicted %q for a pod that displaces nobody", ends)
	}
	tell(kube.PodGone{ID: "never"}, highPod())
	eventually(t, "both were asked", func() bool {
		_, ends := h.heard("high")
		return slices.Contains(ends, cheap+" refused") && slices.Contains(ends, dear+" refused")
	})
	tell(kube.PodGone{ID: "high"})
	reaches(t, d, "high", client.Withdrawn)
	eventually(t, "both run on", func() bool {
		for _, id := range []string{"cheap", "dear"} {
			if j, err := d.Job(t.Context(), "t", id); err != nil || j.State != client.Running || j.Reason != "" {
				return false
			}
		}
		return true
	})
}

// A victim that is found while a job is taken in is told as one that is found at any
// other time.
func TestVictimOfASubmission(t *testing.T) {
	d, h, tell, cheap, _ := fullNodes(t, "queue.preemption", "priority")
	late := highPod()
	late.Job.Priority = 0
	tell(late)
	eventually(t, "it was tried", func() bool { told, _ := h.heard("high"); return len(told) > 0 })
	if err := d.durably(t.Context(), func(c *core) error {
		if err := c.event(poise.JobPrioritySet{Job: "high", Priority: 9}); err != nil {
			return err
		}
		if _, err := c.decide(); err != nil { // it waits for the next search
			return err
		}
		if c.loop.State().Job("cheap").Yielding() {
			return nil
		}
		time.Sleep(1100 * time.Millisecond)
		_, err := c.accept(&Spec{Job: podJob("other", 9000)}, "", 0)
		if err == nil && !c.loop.State().Job("cheap").Yielding() {
			t.Error("no victim was found with the submission")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	reaches(t, d, "high", client.Running)
	if _, ends := h.heard("high"); !slices.Equal(ends, []string{cheap}) {
		t.Errorf("evicted %q", ends)
	}
}
