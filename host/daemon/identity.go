package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// stateRefused is the state of a cluster that has joined under another name.
const stateRefused = "refused"

// twin refuses a cluster that has joined under another name: each of its pods would be
// two jobs. One that does not answer now is known when it is read, see refusesTwin.
func (d *Daemon) twin(ctx context.Context, op string, k *kubeCluster) error {
	identity, err := k.Identity(ctx)
	if err != nil || identity == "" {
		return nil
	}
	d.kubes.mu.Lock()
	others := maps.Clone(d.kubes.all)
	d.kubes.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(others)) {
		other := others[name]
		if other == k || name == k.name {
			continue
		}
		d.kubes.mu.Lock()
		known := other.identity
		d.kubes.mu.Unlock()
		if known == "" {
			if known, err = other.Identity(ctx); err != nil {
				continue
			}
		}
		if known == identity {
			return &poise.Error{Kind: poise.Conflict, Op: op, Detail: sameAs(name)}
		}
	}
	return nil
}

func sameAs(name string) string {
	return fmt.Sprintf("this cluster has joined as %q, expected that name, or it to leave first", name)
}

// refusesTwin says whether a cluster that was read turns out to be one that has joined
// under another name. Then it is not followed, and does not join again.
func (d *Daemon) refusesTwin(ctx context.Context, k *kubeCluster, changes []kube.Change) bool {
	at := slices.IndexFunc(changes, func(c kube.Change) bool { _, synced := c.(kube.Synced); return synced })
	if at < 0 {
		return false
	}
	other := d.claim(k, changes[at].(kube.Synced).Identity)
	if other == "" {
		return false
	}
	d.log.Error("a cluster is not followed", "cluster", k.name, "error", sameAs(other))
	k.is(stateRefused, sameAs(other))
	err := d.store.DeleteKube(ctx, k.name)
	if err == nil {
		err = d.keepClusters(ctx)
	}
	if err != nil {
		d.log.Error("a cluster that is refused joins again at the next start", "cluster", k.name, "error", err)
	}
	k.stop()
	return true
}

// claim notes which cluster it is, or gives the name of another one that is the same.
func (d *Daemon) claim(k *kubeCluster, identity string) (other string) {
	d.kubes.mu.Lock()
	defer d.kubes.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.kubes.all)) {
		if o := d.kubes.all[name]; o != k && identity != "" && o.identity == identity {
			return name
		}
	}
	k.identity = identity
	return ""
}
