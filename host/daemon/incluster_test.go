package daemon

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// A daemon that runs in no cluster says so, keeps nothing of it and starts without
// the setting; a second name for the same cluster, and one that another has, are
// refused. That it joins is seen on real API servers, in test/kube.
func TestInClusterRefused(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	refused := func(name, why string) {
		t.Helper()
		d, err := Open(t.Context(), options(t, dir, settings{"cluster.in_cluster": name}))
		if err == nil {
			_ = d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, expected %s", name, err, why)
		}
	}
	refused("here", "KUBERNETES_SERVICE_HOST")
	refused(externalCluster, "expected a name without spaces")

	file := filepath.Join(t.TempDir(), "config")
	write(t, file, nowhere)
	inventory := filepath.Join(t.TempDir(), "nodes.yaml")
	write(t, inventory, "{node: n, capacity: {cpu: 1}}")
	d, err := Open(t.Context(), options(t, dir, nil)) // the refused one left nothing behind
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.PutKube(t.Context(), store.KubeRow{Cluster: "north", Body: marshalled(t, client.Kubernetes{Kubeconfig: file})}); err != nil {
		t.Fatal(err)
	}
	if err := d.store.PutFollow(t.Context(), store.Follow{Cluster: "lab", Path: inventory}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	refused("north", "has joined by a kubeconfig")
	refused("lab", "has joined by a file")

	d, err = Open(t.Context(), options(t, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.kubes.all["pod"] = &kubeCluster{state: client.KubernetesState{}}
	if err := d.mayJoinInCluster(t.Context(), "other"); poise.KindOf(err) != poise.Conflict || !strings.Contains(err.Error(), `has joined as "pod"`) {
		t.Errorf("%v", err)
	}
	if err := d.mayJoinInCluster(t.Context(), "pod"); err != nil {
		t.Errorf("with other nodes: %v", err)
	}
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
