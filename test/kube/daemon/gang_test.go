package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// post makes an object of a kind that the clients here do not know.
func (f *fleet) post(path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.api.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(f.t.Context()).Error()
}

type object = map[string]any

// definePodGroups installs the definition of PodGroups as far as Poise reads them.
func (f *fleet) definePodGroups() {
	f.t.Helper()
	schema := object{"type": "object", "properties": object{"spec": object{"type": "object", "properties": object{"minMember": object{"type": "integer", "format": "int32"}}}}}
	err := f.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "podgroups.scheduling.x-k8s.io", "annotations": object{"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins"}},
		"spec": object{
			"group": "scheduling.x-k8s.io", "scope": "Namespaced", "names": object{"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"},
			"versions": []any{object{"name": "v1alpha1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": schema}}},
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	eventually(f.t, "PodGroups are served", func() bool {
		return f.api.Discovery().RESTClient().Get().AbsPath("/apis/scheduling.x-k8s.io/v1alpha1/podgroups").Do(f.t.Context()).Error() == nil
	})
}

func (f *fleet) podGroup(name string, least int) {
	f.t.Helper()
	if err := f.post("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups", object{
		"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": object{"name": name}, "spec": object{"minMember": least},
	}); err != nil {
		f.t.Fatal(err)
	}
}

func labelled(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Labels = map[string]string{key: value} }
}

// Pods of a PodGroup say what is missing while there are no PodGroups; once there are,
// as many as it says start together, and the others follow.
func TestPodGroupsOfTheAPI(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	label := labelled("scheduling.x-k8s.io/pod-group", "train")
	for i := range 2 {
		f.create("default", fmt.Sprint("t", i), "3", label)
	}
	says := func(pod, what string) {
		t.Helper()
		eventually(t, pod+" says "+what, func() bool { return strings.Contains(waiting(f.pod("default", pod)), what) })
	}
	says("t0", "its PodGroup default/train cannot be read: the cluster has no podgroups.scheduling.x-k8s.io/v1alpha1; expected that, or the annotation poise.dev/gang-size")
	f.definePodGroups()
	says("t0", "its PodGroup default/train is not there")
	f.podGroup("train", 3)
	says("t1", "its gang train waits for as many as 3 pods")
	f.create("default", "t2", "3", label)
	says("t1", "never fits") // three of 3 cpu on two nodes of 4
	for i := range 3 {
		if pod := f.pod("default", fmt.Sprint("t", i)); pod.Spec.NodeName != "" {
			t.Errorf("%s is on %s, expected all or none", pod.Name, pod.Spec.NodeName)
		}
	}
	f.delete("default", "t2")
	says("t1", "its gang train waits for as many as 3 pods")
	f.create("default", "t3", "1", labelled("pod-group.scheduling.sigs.k8s.io", "train"))
	for _, name := range []string{"t0", "t1", "t3"} {
		f.runs("default", name)
	}
	f.create("default", "t4", "1", label) // beyond those that have to start together
	f.runs("default", "t4")
}

// Pods of a Job start together where its template says how many; a pod that the Job
// makes again follows by itself.
func TestJobsOfTheAPI(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	job, err := f.api.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train"},
		Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Template: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"poise.dev/gang-size": "2"}},
			Spec:       v1.PodSpec{SchedulerName: "poise", RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main", Image: "none"}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The Job controller does not run here.
	of := func(pod *v1.Pod) {
		pod.Annotations = job.Spec.Template.Annotations
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	f.create("default", "a", "3", of)
	eventually(t, "a waits", func() bool { return waiting(f.pod("default", "a")) == "its gang train waits for as many as 2 pods" })
	f.create("default", "b", "3", of, func(pod *v1.Pod) {
		pod.Annotations = map[string]string{"poise.dev/gang-size": "2", "kubelet.test/run-for": "1s", "kubelet.test/exit-code": "1"}
	})
	if a, b := f.runs("default", "a"), f.pod("default", "b"); b.Spec.NodeName == "" || a.Spec.NodeName == b.Spec.NodeName {
		t.Errorf("on %q and %q, expected two nodes", a.Spec.NodeName, b.Spec.NodeName)
	}
	eventually(t, "b failed", func() bool { return f.pod("default", "b").Status.Phase == v1.PodFailed })
	f.create("default", "again", "3", of)
	f.runs("default", "again")
}
