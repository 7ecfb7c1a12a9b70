package daemon

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// Pods of two namespaces are placed by the daemon, with the decision in their
// annotations; one without room says why, to Kubernetes and to who asks; the
// daemon is killed and goes on; the API server is killed and comes back.
func TestPodsArePlaced(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2", "n3")
	f.space("red")
	f.space("blue")
	dir := t.TempDir()
	p := serve(t, dir)
	if out := p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin)); out != "cluster north joined: 3 nodes, 3 ready\n" {
		t.Errorf("%s", out)
	}
	for i := range 3 {
		f.create("red", fmt.Sprint("r", i), "1")
		f.create("blue", fmt.Sprint("b", i), "2")
	}
	for i := range 3 {
		for _, pod := range []*v1.Pod{f.runs("red", fmt.Sprint("r", i)), f.runs("blue", fmt.Sprint("b", i))} {
			for _, note := range []string{"placement", "decision", "policy", "class", "loss"} {
				if pod.Annotations["poise.dev/"+note] == "" {
					t.Errorf("%s: annotations %v, expected %s", pod.Name, pod.Annotations, note)
				}
			}
		}
	}
	f.create("red", "big", "3")
	eventually(t, "the condition of big", func() bool {
		for _, c := range f.pod("red", "big").Status.Conditions {
			if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonUnschedulable {
				return strings.Contains(c.Message, "not enough idle (cpu)")
			}
		}
		return false
	})
	if out := p.poise("job", "why", "red/big", "--tenant", "red"); !strings.Contains(out, "too little idle now: less than 3 cpu") {
		t.Errorf("%s", out)
	}
	// Its history is what it was after a kill, and nothing is bound twice.
	p.kill()
	f.create("blue", "late", "1")
	p = serve(t, dir)
	f.runs("blue", "late")
	if out := p.poise("job", "list", "--tenant", "red") + p.poise("job", "list", "--tenant", "blue"); strings.Count(out, "running") != 7 {
		t.Errorf("expected seven that run:\n%s", out)
	}
	f.plane.KillAPIServer()
	if err := f.plane.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.delete("blue", "b0")
	f.delete("blue", "b1")
	f.delete("blue", "b2")
	f.runs("red", "big")
	// Another daemon, without the history, counts what runs, and goes on.
	p.kill()
	other := serve(t, t.TempDir())
	other.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	f.create("red", "huge", "4")
	eventually(t, "a decision on huge", func() bool {
		out, err := other.try("job", "why", "red/huge", "--tenant", "red")
		return err == nil && strings.Contains(out, "too little idle now: less than 4 cpu")
	})
	for _, name := range []string{"r0", "r1", "r2", "big", "late"} {
		space := "red"
		if name == "late" {
			space = "blue"
		}
		if pod := f.pod(space, name); pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
			t.Errorf("%s is %s, expected it untouched", name, pod.Status.Phase)
		}
	}
	for _, name := range []string{"r0", "r1", "r2", "big"} {
		f.delete("red", name)
	}
	f.delete("blue", "late")
	f.runs("red", "huge")
}

// apart has a pod keep away from those with its label.
func apart(pod *v1.Pod) {
	pod.Labels = map[string]string{"app": "web"}
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}}}
}

// What pods of others take counts, and rules about pods are kept on a real cluster.
func TestOthersAndRules(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2", "n3", "n4")
	p := serve(t, t.TempDir())
	f.create("default", "agent", "4", func(pod *v1.Pod) { pod.Spec.SchedulerName, pod.Spec.NodeName = "other", "n1" })
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	nodes := map[string]bool{}
	for i := range 3 {
		f.create("default", fmt.Sprint("web", i), "500m", apart)
		nodes[f.runs("default", fmt.Sprint("web", i)).Spec.NodeName] = true
	}
	if len(nodes) != 3 || nodes["n1"] {
		t.Errorf("on %v, expected three nodes and not that of the agent", nodes)
	}
	f.create("default", "web3", "500m", apart)
	eventually(t, "web3 waits", func() bool {
		out, err := p.try("job", "why", "default/web3")
		return err == nil && strings.Contains(out, "podAntiAffinity")
	})
	f.delete("default", "agent")
	if got := f.runs("default", "web3"); got.Spec.NodeName != "n1" {
		t.Errorf("on %s", got.Spec.NodeName)
	}
	f.create("default", "claims", "1", func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new(string)}}
		*pod.Spec.ResourceClaims[0].ResourceClaimName = "gpu"
	})
	eventually(t, "claims is refused", func() bool {
		for _, c := range f.pod("default", "claims").Status.Conditions {
			if c.Type == v1.PodScheduled && c.Reason == v1.PodReasonUnschedulable {
				return strings.Contains(c.Message, "resource claims")
			}
		}
		return false
	})
	// One that ends gives its node back.
	f.create("default", "short", "3500m", func(pod *v1.Pod) {
		pod.Annotations = map[string]string{"kubelet.test/run-for": "100ms", "kubelet.test/exit-code": "3"}
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("1Gi")
	})
	eventually(t, "short failed", func() bool {
		out, err := p.try("job", "list", "--state", "failed")
		return err == nil && strings.Contains(out, "default/short")
	})
}
