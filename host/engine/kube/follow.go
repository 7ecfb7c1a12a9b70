package kube

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Follow reads the cluster and calls f with what changes, in order, one call at a
// time, until ctx ends; it returns ctx's error. Lists and watches that fail are
// tried again for ever; what was missed meanwhile is told as changes. One Follow of
// a cluster may run at a time.
func (c *Cluster) Follow(ctx context.Context, f func([]Change)) error {
	w := &follower{cluster: c, wake: make(chan struct{}, 1), failing: map[string]failure{}}
	handler := klog.NewContext(ctx, logr.FromSlogHandler(c.log.Handler()))
	ctx, cancel := context.WithCancel(handler)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	informers := []cache.Controller{
		informer(w, "namespaces", &v1.Namespace{}, &v1.NamespaceList{}, "", (*world).spaceSeen, (*world).spaceGone),
		informer(w, "nodes", &v1.Node{}, &v1.NodeList{}, c.nodes, w.nodeSeen, func(o *world, n *v1.Node) { o.nodeGone(n.Name) }),
		informer(w, "pods", &v1.Pod{}, &v1.PodList{}, "", (*world).pod, (*world).podGone),
	}
	for _, i := range informers {
		running.Go(func() { i.RunWithContext(ctx) })
		running.Go(func() {
			select {
			case <-ctx.Done():
			case <-i.HasSyncedChecker().Done():
				w.nudge()
			}
		})
	}
	running.Go(func() { c.findMade(ctx) })
	running.Go(func() { w.followPodGroups(ctx) })
	running.Go(func() { c.writeEvents(ctx) })
	synced := false
	tick := time.NewTimer(lostAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		case <-tick.C:
		}
		all := !slices.ContainsFunc(informers, func(i cache.Controller) bool { return !i.HasSynced() })
		told := w.health(tick)
		if all {
			told = append(told, c.absorb(w.taken(), !synced)...)
			synced = true
		}
		if len(told) > 0 && ctx.Err() == nil {
			f(told)
		}
	}
}

// absorb takes in what was read. The first time all that is there is the change.
func (c *Cluster) absorb(read []func(*world), first bool) []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.world
	if first {
		c.world = newWorld(c.name, before.scheduler, c.now, before.post)
	}
	for _, r := range read {
		r(c.world)
	}
	out := c.world.take()
	if !first {
		return out
	}
	c.synced = true
	for placement, uid := range before.places { // of an earlier Follow
		switch v := c.world.pods[uid]; {
		case v == nil:
			c.board.Post(lostStatus(nil, placement, c.now()))
		case v.placement == "":
			c.world.placed(v, placement)
		}
	}
	return []Change{c.world.all()}
}

// follower is one Follow.
type follower struct {
	cluster *Cluster
	wake    chan struct{}

	mu      sync.Mutex
	read    []func(*world)
	failing map[string]failure // by resource
	lost    bool

	fencing sync.Mutex
	fenced  bool
}

// fence raises the cluster's fence, once, before anything is read.
func (w *follower) fence(ctx context.Context) error {
	w.fencing.Lock()
	defer w.fencing.Unlock()
	if w.fenced || w.cluster.guard == nil {
		return nil
	}
	err := w.cluster.fence(ctx)
	w.fenced = err == nil
	return err
}

type failure struct {
	since  poise.Time
	reason string
}

func (w *follower) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *follower) add(r func(*world)) {
	w.mu.Lock()
	w.read = append(w.read, r)
	w.mu.Unlock()
	w.nudge()
}

func (w *follower) taken() []func(*world) {
	w.mu.Lock()
	defer w.mu.Unlock()
	read := w.read
	w.read = nil
	return read
}

func (w *follower) nodeSeen(o *world, n *v1.Node) {
	if err := o.node(n); err != nil {
		w.cluster.log.Warn("a node that cannot be read is not ready", "node", n.Name, "error", err)
	}
}

// note remembers whether a resource can be read.
func (w *follower) note(resource string, err error) {
	w.mu.Lock()
	_, was := w.failing[resource]
	switch {
	case err == nil:
		delete(w.failing, resource)
	case !was:
		w.failing[resource] = failure{since: w.cluster.now(), reason: resource + ": " + err.Error()}
	}
	changed := was == (err == nil)
	w.mu.Unlock()
	if changed {
		w.nudge()
	}
}

// health says whether the cluster has got lost, or is back, and sets when to look
// again.
func (w *follower) health(tick *time.Timer) []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failing) == 0 {
		if was := w.lost; was {
			w.lost = false
			return []Change{Back{}}
		}
		return nil
	}
	if w.lost {
		return nil
	}
	failures := slices.Collect(maps.Values(w.failing))
	first := slices.MinFunc(failures, func(a, b failure) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.reason, b.reason)) })
	if left := lostAfter - time.Duration(w.cluster.now()-first.since)*time.Millisecond; left > 0 {
		tick.Reset(left)
		return nil
	}
	w.lost = true
	return []Change{Lost{Since: first.since, Reason: first.reason}}
}

// informer reads one resource: what it sees and what it misses goes to the world,
// in order.
func informer[O any](w *follower, resource string, object, list runtime.Object, selector string, seen, gone func(*world, *O)) cache.Controller {
	dropped := func(object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if o, ok := object.(*O); ok {
			w.add(func(world *world) { gone(world, o) })
		}
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.LabelSelector = selector
				into := list.DeepCopyObject()
				return into, w.again(ctx, resource, func() error { return w.cluster.client.list(ctx, resource, o, into) })
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.LabelSelector = selector
				var events watch.Interface
				err := w.again(ctx, resource, func() (err error) {
					events, err = w.cluster.client.watch(ctx, resource, o)
					return err
				})
				return events, err
			},
		},
		ObjectType: object,
		Transform:  trim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) {
				if o, ok := object.(*O); ok {
					w.add(func(world *world) { seen(world, o) })
				}
			},
			UpdateFunc: func(old, object any) {
				if a, ok := old.(metav1.Object); ok && a.GetUID() != object.(metav1.Object).GetUID() {
					dropped(old) // its end was missed, and this is another one of its name
				}
				if o, ok := object.(*O); ok {
					w.add(func(world *world) { seen(world, o) })
				}
			},
			DeleteFunc: dropped,
		},
	})
	return controller
}

func (w *world) spaceSeen(n *v1.Namespace) {
	of := n.Labels
	if of == nil {
		of = map[string]string{}
	}
	if n.Name == systemSpace {
		w.identity = string(n.UID)
	}
	w.space(n.Name, of)
}

func (w *world) spaceGone(n *v1.Namespace) { w.space(n.Name, nil) }
