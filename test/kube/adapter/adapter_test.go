package adapter

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/test/kube/cluster"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// followed is a cluster that is read, and what was told of it.
type followed struct {
	mu      sync.Mutex
	changes []kube.Change
}

// until waits for a change that is right.
func (f *followed) until(t *testing.T, what string, right func(kube.Change) bool) kube.Change {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		f.mu.Lock()
		i := slices.IndexFunc(f.changes, right)
		var found kube.Change
		if i >= 0 {
			found, f.changes = f.changes[i], f.changes[i+1:]
		}
		f.mu.Unlock()
		if found != nil {
			return found
		}
	}
	t.Fatalf("no %s was told in a minute", what)
	return nil
}

func TestAdapterOnARealAPIServer(t *testing.T) {
	plane := cluster.ForTest(t, cluster.Config{})
	api, err := kubernetes.NewForConfig(plane.Client(cluster.Admin))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	amounts := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts}}
	if _, err := api.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(name string) *v1.Pod {
		t.Helper()
		p, err := api.CoreV1().Pods("default").Create(ctx, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1.PodSpec{SchedulerName: "poise", Containers: []v1.Container{{Name: "main", Image: "none"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := create("first")

	config, err := os.ReadFile(plane.Kubeconfig(cluster.Admin))
	if err != nil {
		t.Fatal(err)
	}
	c, err := kube.New(kube.Options{
		Name: "north", Kubeconfig: config, Log: slog.New(slog.DiscardHandler), Now: func() poise.Time { return poise.Time(time.Now().UnixMilli()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var f followed
	following, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- c.Follow(following, func(list []kube.Change) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.changes = append(f.changes, list...)
		})
	}()
	defer func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow ended with %v", err)
		}
	}()
	synced := f.until(t, "Synced", func(ch kube.Change) bool { _, ok := ch.(kube.Synced); return ok }).(kube.Synced)
	if len(synced.Nodes) != 1 || synced.Nodes[0].Name != "north/n1" || len(synced.Waiting) != 1 || synced.Waiting[0].Job.ID != poise.JobID(first.UID) {
		t.Fatalf("synced %+v, expected the node and the pod", synced)
	}
	waits := func(p *v1.Pod) {
		t.Helper()
		f.until(t, "pod that waits", func(ch kube.Change) bool {
			w, ok := ch.(kube.PodWaits)
			return ok && w.Job.ID == poise.JobID(p.UID)
		})
	}
	second := create("second")
	waits(second)
	binding := func(placement string, p *v1.Pod) engine.Binding {
		return engine.Binding{
			Placement: placement, Job: poise.JobID(p.UID), Name: "default/" + p.Name, Tenant: "default", Node: "north/n1", Notes: map[string]string{"policy": "default"},
		}
	}
	fine := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	// Why it waits, then the bind, once however often it is asked for.
	fine(c.Waits(ctx, poise.JobID(first.UID), "no room", ""))
	got, err := api.CoreV1().Pods("default").Get(ctx, "first", metav1.GetOptions{})
	fine(err)
	if l := got.Status.Conditions; len(l) != 1 || l[0].Type != v1.PodScheduled || l[0].Reason != v1.PodReasonUnschedulable || l[0].Message != "no room" {
		t.Errorf("conditions %+v, expected PodScheduled with the reason", l)
	}
	for range 2 {
		fine(c.Bind(ctx, binding("p1", first)))
	}
	got, err = api.CoreV1().Pods("default").Get(ctx, "first", metav1.GetOptions{})
	fine(err)
	if got.Spec.NodeName != "n1" || got.Annotations["poise.dev/placement"] != "p1" || got.Annotations["poise.dev/policy"] != "default" {
		t.Errorf("bound to %q with %v", got.Spec.NodeName, got.Annotations)
	}
	f.until(t, "pod that is bound", func(ch kube.Change) bool { b, ok := ch.(kube.PodBound); return ok && b.Placement == "p1" })

	// A namesake is not bound for the pod that had the name before.
	none := int64(0)
	fine(api.CoreV1().Pods("default").Delete(ctx, "second", metav1.DeleteOptions{GracePeriodSeconds: &none}))
	again := create("second")
	if err := c.Bind(ctx, binding("p2", second)); err == nil {
		t.Error("a pod that is gone was bound")
	}
	waits(again)
	got, err = api.CoreV1().Pods("default").Get(ctx, "second", metav1.GetOptions{})
	fine(err)
	if got.Spec.NodeName != "" {
		t.Errorf("its namesake was bound to %q", got.Spec.NodeName)
	}

	// What comes after the API server was away is told too.
	plane.KillAPIServer()
	if err := c.Bind(ctx, binding("p3", again)); poise.KindOf(err) != poise.Unavailable {
		t.Errorf("bind without an API server: %v, expected it to be unavailable", err)
	}
	fine(plane.StartAPIServer(ctx))
	third := create("third")
	waits(third)
	fine(c.Bind(ctx, binding("p3", again)))

	fine(c.Evict(ctx, "p1", 5000))
	got, err = api.CoreV1().Pods("default").Get(ctx, "first", metav1.GetOptions{})
	fine(err)
	if got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 5 {
		t.Errorf("evicted pod: deletion at %v, grace %v", got.DeletionTimestamp, got.DeletionGracePeriodSeconds)
	}
}
