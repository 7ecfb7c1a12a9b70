package daemon

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// class makes a priority class.
func (f *fleet) class(name string, value int32, policy v1.PreemptionPolicy) {
	f.t.Helper()
	_, err := f.api.SchedulingV1().PriorityClasses().Create(f.t.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &policy,
	}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
}

// budget forbids the eviction of the pods of an app, as the disruption controller says
// it, which does not run here.
func (f *fleet) budget(app string) {
	f.t.Helper()
	budgets := f.api.PolicyV1().PodDisruptionBudgets("default")
	b, err := budgets.Create(f.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
	if _, err := budgets.UpdateStatus(f.t.Context(), b, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func inClass(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.PriorityClassName = name }
}

func waiting(pod *v1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonUnschedulable {
			return c.Message
		}
	}
	return ""
}

// Pods of a low priority fill the nodes. A high one comes: the cheapest victim is
// under a disruption budget and runs on, another one is evicted, its node is
// nominated while it ends and kept, and the high pod is bound there. Nobody ends for a
// pod that displaces none, and what others put there stays.
func TestPodsGiveWay(t *testing.T) {
	f := newFleet(t, "n1", "n2", "n3")
	f.class("mild", 10, v1.PreemptLowerPriority)
	f.class("high", 1000, v1.PreemptLowerPriority)
	f.class("polite", 2000, v1.PreemptNever)
	f.create("default", "agent", "4", func(p *v1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "other", "n3" })
	p := serve(t, t.TempDir(), "--queue.preemption", "priority")
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	f.budget("guarded")
	f.create("default", "guarded", "4", func(p *v1.Pod) { p.Labels = map[string]string{"app": "guarded"} })
	f.runs("default", "guarded")
	f.create("default", "mild", "4", inClass("mild"), func(p *v1.Pod) { p.Annotations = map[string]string{"kubelet.test/stop-in": "3s"} })
	node := f.runs("default", "mild").Spec.NodeName

	f.create("default", "high", "3", inClass("high"))
	eventually(t, "high is told of a node that gets free", func() bool {
		pod := f.pod("default", "high")
		return pod.Status.NominatedNodeName == node && strings.Contains(waiting(pod), "not enough idle (cpu)") && pod.Spec.NodeName == ""
	})
	eventually(t, "mild is told to end by an eviction", func() bool {
		mild := f.pod("default", "mild")
		return mild.DeletionTimestamp != nil && hasCondition(mild, v1.DisruptionTarget)
	})
	if high := f.runs("default", "high"); high.Spec.NodeName != node {
		t.Errorf("on %s, expected %s", high.Spec.NodeName, node)
	}
	if out := p.poise("job", "list", "--state", "lost"); !strings.Contains(out, "default/mild") {
		t.Errorf("%s", out)
	}
	f.happens("mild", "Preempted", "evicted for job default/high")
	f.happens("high", "FailedScheduling", "fits, but not now: not enough idle (cpu)")
	// All that may end for the next is under the budget: nothing is nominated for long.
	f.create("default", "late", "4", inClass("high"))
	eventually(t, "guarded is asked twice", func() bool {
		late := f.pod("default", "late")
		return strings.Count(p.said(), "a task is not ended for another job") > 1 && waiting(late) != "" && late.Status.NominatedNodeName == ""
	})
	f.delete("default", "late")
	f.create("default", "polite", "4", inClass("polite"))
	eventually(t, "polite waits", func() bool { return waiting(f.pod("default", "polite")) != "" })
	for _, name := range []string{"guarded", "agent", "high"} {
		if pod := f.pod("default", name); pod.DeletionTimestamp != nil || pod.Status.Phase != v1.PodRunning {
			t.Errorf("%s is %s, deleted at %v, expected it to run", name, pod.Status.Phase, pod.DeletionTimestamp)
		}
	}
	if polite := f.pod("default", "polite"); polite.Spec.NodeName != "" || polite.Status.NominatedNodeName != "" {
		t.Errorf("polite is on %q, nominated %q", polite.Spec.NodeName, polite.Status.NominatedNodeName)
	}
}

func hasCondition(pod *v1.Pod, of v1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == of && c.Status == v1.ConditionTrue {
			return true
		}
	}
	return false
}

// happens waits until a pod has an event. One for each pod and note is all there is.
func (f *fleet) happens(pod, reason, note string) {
	f.t.Helper()
	eventually(f.t, reason+" of "+pod, func() bool {
		list, err := f.api.EventsV1().Events("default").List(f.t.Context(), metav1.ListOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		n := 0
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == pod && e.Reason == reason && e.Note == note {
				n++
			}
		}
		if n > 1 {
			f.t.Fatalf("%d events %s of %s", n, reason, pod)
		}
		return n == 1
	})
}
