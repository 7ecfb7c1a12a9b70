package daemon

import (
	"path/filepath"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/store"
)

// A cluster that turns out to be one that has joined under another name, once it is
// read, is refused, and does not join at the next start.
func TestTwinClusters(t *testing.T) {
	d := open(t, t.TempDir(), nil)
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, nowhere)
	all := map[string]*kubeCluster{}
	for _, name := range []string{"a", "b", "c"} {
		spec := client.Kubernetes{Kubeconfig: file}
		k, err := d.openKube(name, spec)
		if err != nil {
			t.Fatal(err)
		}
		k.stop = func() {}
		if err := d.store.PutKube(t.Context(), store.KubeRow{Cluster: name, Body: marshalled(t, spec)}); err != nil {
			t.Fatal(err)
		}
		all[name] = k
		d.kubes.mu.Lock()
		d.kubes.all[name] = k // nobody follows it
		d.kubes.mu.Unlock()
	}
	f := func(name, identity string, want bool) {
		t.Helper()
		if got := d.refusesTwin(t.Context(), all[name], []kube.Change{kube.Back{}, kube.Synced{Identity: identity}}); got != want {
			t.Errorf("%s: refused %t, expected %t", name, got, want)
		}
		if got := all[name].view().State == stateRefused; got != want {
			t.Errorf("%s is %+v", name, all[name].view())
		}
	}
	if d.refusesTwin(t.Context(), all["a"], []kube.Change{kube.Back{}}) {
		t.Error("refused without being read")
	}
	f("a", "u", false)
	f("a", "u", false) // read anew
	f("b", "v", false)
	f("c", "u", true)
	if got, want := all["c"].view().Reason, `this cluster has joined as "a", expected that name, or it to leave first`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	rows, err := d.store.Kubes(t.Context())
	if err != nil || len(rows) != 2 {
		t.Errorf("%+v, %v, expected a and b", rows, err)
	}
	// Clusters that do not say which one they are, are not compared.
	f("a", "", false)
	f("b", "", false)
}
