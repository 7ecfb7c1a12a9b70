package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// readWithin is how long joining a cluster of Kubernetes waits for it to be read.
const readWithin = 15 * time.Second

// kubes are the joined clusters of Kubernetes.
type kubes struct {
	mu  sync.Mutex
	all map[string]*kubeCluster // by name
	ctx context.Context         // of Run; nil before
	run sync.WaitGroup
}

// kubeCluster is one of them. Its state is written by the loop.
type kubeCluster struct {
	*kube.Cluster
	name  string
	hands *hands
	stop  context.CancelFunc // nil before it runs
	// identity is which cluster it is, "" before it was read. The lock is that of all.
	identity string
	synced   chan struct{} // closed when it was read

	mu    sync.Mutex
	state client.KubernetesState
	nodes map[string]bool        // by name, those that it vouches for: only the loop's
	held  map[poise.JobID]string // pods that are not to be placed yet, and why: only the loop's
	lost  bool                   // only the loop's
}

func newKubes() kubes { return kubes{all: map[string]*kubeCluster{}} }

// openKube makes a cluster known; it is read once the daemon runs.
func (d *Daemon) openKube(name string, spec client.Kubernetes) (*kubeCluster, error) {
	o := kube.Options{
		Name: name, Context: spec.Context, SchedulerName: spec.SchedulerName, NodeSelector: spec.NodeSelector, Log: d.log, Now: now,
	}
	if spec.Kubeconfig != "" {
		text, err := os.ReadFile(spec.Kubeconfig)
		if err != nil {
			return nil, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("join cluster %q", name), Detail: "kubeconfig", Err: err}
		}
		o.Kubeconfig = text
	}
	if d.home != nil {
		o.Guard = d.home.keeper // as what it is: it knows its own Lease
	}
	c, err := kube.New(o)
	if err != nil {
		return nil, err
	}
	return &kubeCluster{
		Cluster: c, name: name, hands: newHands(kubeHands), synced: make(chan struct{}), nodes: map[string]bool{}, held: map[poise.JobID]string{},
		state: client.KubernetesState{Kubernetes: spec, State: "reading", Reason: "it is being read"},
	}, nil
}

// takeUpKubes opens the clusters that joined before a restart.
func (d *Daemon) takeUpKubes(ctx context.Context) error {
	rows, err := d.store.Kubes(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		var spec client.Kubernetes
		if err := json.Unmarshal(row.Body, &spec); err != nil {
			return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("cluster %q", row.Cluster), Err: err}
		}
		k, err := d.openKube(row.Cluster, spec)
		if err != nil {
			return err
		}
		d.kubes.all[row.Cluster] = k
	}
	return nil
}

// kube gives a joined cluster of Kubernetes, or nil.
func (d *Daemon) kube(name string) *kubeCluster {
	d.kubes.mu.Lock()
	defer d.kubes.mu.Unlock()
	return d.kubes.all[name]
}

// runKubes follows the clusters until ctx ends.
func (d *Daemon) runKubes(ctx context.Context) error {
	d.kubes.mu.Lock()
	d.kubes.ctx = ctx
	for _, name := range slices.Sorted(maps.Keys(d.kubes.all)) {
		d.startKube(d.kubes.all[name])
	}
	d.kubes.mu.Unlock()
	<-ctx.Done()
	d.kubes.run.Wait()
	return nil
}

// startKube follows a cluster until it leaves. The lock is held.
func (d *Daemon) startKube(k *kubeCluster) {
	var ctx context.Context
	ctx, k.stop = context.WithCancel(d.kubes.ctx)
	d.kubes.run.Go(func() {
		defer k.hands.close()
		_ = k.Follow(ctx, func(changes []kube.Change) { // it ends with ctx
			if d.refusesTwin(ctx, k, changes) {
				return
			}
			d.core.tell(func(c *core) {
				if ctx.Err() != nil { // it has left
					return
				}
				if err := c.absorb(k, changes); err != nil {
					d.log.Error("a change of a cluster is not taken in", "cluster", k.name, "error", err)
				}
				d.tenants.know(c)
				if !slices.ContainsFunc(changes, ofNodes) {
					return
				}
				if err := c.classify(modelSettings(&d.options.Config.Current().Config), false); err != nil {
					d.log.Error("the classes are not found anew", "cluster", k.name, "error", err)
				}
			})
		})
	})
	d.kubes.run.Go(func() {
		_ = k.Watch(ctx, func(s engine.Status) { d.core.tell(func(c *core) { c.status(k, s) }) })
	})
}

// is sets how the cluster is doing.
func (k *kubeCluster) is(state, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.State, k.state.Reason = state, reason
}

// view gives how the cluster is doing.
func (k *kubeCluster) view() *client.KubernetesState {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.state
	return &s
}

// JoinKubernetes implements api.Backend.
func (d *Daemon) JoinKubernetes(ctx context.Context, name string, spec client.Kubernetes) (client.Cluster, error) {
	if err := clusterName(name, d.options.Config.Current().Config.Cluster.Name); err != nil {
		return client.Cluster{}, err
	}
	op := fmt.Sprintf("join cluster %q", name)
	if spec.Kubeconfig != "" && !filepath.IsAbs(spec.Kubeconfig) {
		return client.Cluster{}, &poise.Error{
			Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("kubeconfig: %q, expected the absolute path of a file on the daemon's machine", spec.Kubeconfig),
		}
	}
	if _, err := d.cluster(ctx, name); err == nil {
		return client.Cluster{}, &poise.Error{Kind: poise.Conflict, Op: op, Detail: "a cluster of that name has joined, expected it to leave first"}
	}
	k, err := d.openKube(name, spec)
	if err != nil {
		return client.Cluster{}, err
	}
	if err := d.twin(ctx, op, k); err != nil {
		return client.Cluster{}, err
	}
	if err := d.putKube(ctx, name, spec); err != nil {
		return client.Cluster{}, err
	}
	d.kubes.mu.Lock()
	d.kubes.all[name] = k
	if d.kubes.ctx != nil {
		d.startKube(k)
	}
	d.kubes.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	select {
	case <-k.synced:
	case <-within.Done():
	}
	if s := k.view(); s.State == stateRefused {
		return client.Cluster{}, errors.Join(&poise.Error{Kind: poise.Conflict, Op: op, Detail: s.Reason}, d.leaveKube(ctx, name))
	}
	return d.cluster(ctx, name)
}

// putKube has a cluster join again at each start.
func (d *Daemon) putKube(ctx context.Context, name string, spec client.Kubernetes) error {
	body, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := d.store.PutKube(ctx, store.KubeRow{Cluster: name, Body: body}); err != nil {
		return err
	}
	return d.keepClusters(ctx)
}

// leaveKube lets a cluster of Kubernetes leave: its pods stay as they are, and
// Poise knows nothing of them any more.
func (d *Daemon) leaveKube(ctx context.Context, name string) error {
	d.kubes.mu.Lock()
	k := d.kubes.all[name]
	delete(d.kubes.all, name)
	d.kubes.mu.Unlock()
	if k == nil {
		return nil
	}
	if k.stop != nil {
		k.stop()
	}
	if err := d.store.DeleteKube(ctx, name); err != nil {
		return err
	}
	return d.keepClusters(ctx)
}
