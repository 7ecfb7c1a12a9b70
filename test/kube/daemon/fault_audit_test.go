package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	helper "k8s.io/component-helpers/resource"
)

// The annotations and labels of Poise that the checks go by.
const (
	placementNote = "poise.dev/placement"
	jobNote       = "poise.dev/job-id"
)

// audit follows the pods and nodes of an API server as a third party, from before
// Poise joins to the end of a test, and looks after every event at what must hold at
// every moment: no pod is on two nodes, no job has two pods, and no node has more on
// it than it can take. What it finds fails the test.
type audit struct {
	f       *fleet
	cluster string // that Poise knows it by
	lenient bool   // another scheduler fills the same nodes, so that they are overfilled

	mu    sync.Mutex
	pods  map[types.UID]*v1.Pod
	nodes map[string]*v1.Node
	room  map[string]v1.ResourceList // of the nodes that were ever there
	on    map[types.UID]string       // the node that a pod is or was on
	made  map[string]types.UID       // the pod that a job has or had, by placement
	wrong []string
}

func newAudit(f *fleet, cluster string) *audit {
	f.t.Helper()
	a := &audit{
		f: f, cluster: cluster, pods: map[types.UID]*v1.Pod{}, nodes: map[string]*v1.Node{}, room: map[string]v1.ResourceList{},
		on: map[types.UID]string{}, made: map[string]types.UID{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	nodes, pods := f.api.CoreV1().Nodes(), f.api.CoreV1().Pods("")
	following.Go(func() {
		follow(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) }, nodes.Watch, a.node)
	})
	following.Go(func() {
		follow(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) }, pods.Watch, a.pod)
	})
	f.t.Cleanup(func() {
		cancel()
		following.Wait()
		for _, w := range a.wrong {
			f.t.Error(w)
		}
	})
	eventually(f.t, "the nodes are seen", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.nodes) > 0
	})
	return a
}

// follow tells all changes of a resource, whatever becomes of the API server, until
// ctx ends. What was missed is told as what is there and what is no more.
func follow[O metav1.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error), tell func(object O, gone bool),
) {
	version, known := "", map[types.UID]O{}
	for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		if version == "" {
			all, err := list(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			there := map[types.UID]bool{}
			for _, o := range items[O](all) {
				there[o.GetUID()] = true
			}
			for uid, o := range known {
				if !there[uid] {
					delete(known, uid)
					tell(o, true)
				}
			}
			for _, o := range items[O](all) {
				known[o.GetUID()] = o
				tell(o, false)
			}
			version = all.(metav1.ListInterface).GetResourceVersion()
		}
		events, err := open(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			version = "" // it may be too old
			continue
		}
		for e := range events.ResultChan() {
			o, ok := e.Object.(O)
			if !ok {
				version = ""
				break
			}
			version = o.GetResourceVersion()
			switch e.Type {
			case watch.Deleted:
				delete(known, o.GetUID())
				tell(o, true)
			case watch.Added, watch.Modified:
				known[o.GetUID()] = o
				tell(o, false)
			}
		}
		events.Stop()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func items[O metav1.Object](list runtime.Object) (all []O) {
	switch l := list.(type) {
	case *v1.PodList:
		for i := range l.Items {
			all = append(all, any(&l.Items[i]).(O))
		}
	case *v1.NodeList:
		for i := range l.Items {
			all = append(all, any(&l.Items[i]).(O))
		}
	}
	return all
}

func (a *audit) node(n *v1.Node, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if gone {
		delete(a.nodes, n.Name)
		return
	}
	a.nodes[n.Name], a.room[n.Name] = n, n.Status.Allocatable
}

func (a *audit) pod(p *v1.Pod, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if gone {
		delete(a.pods, p.UID)
		return
	}
	a.pods[p.UID] = p
	node := p.Spec.NodeName
	if node == "" {
		return
	}
	if was := a.on[p.UID]; was != "" && was != node {
		a.fault("pod %s is on %s, and was on %s", p.Name, node, was)
	}
	a.on[p.UID] = node
	if placement := p.Annotations[placementNote]; placement != "" {
		if was, had := a.made[placement]; had && was != p.UID {
			a.fault("placement %s has a second pod, %s", placement, p.Name)
		}
		a.made[placement] = p.UID
	}
	if id := p.Annotations[jobNote]; id != "" && live(p) {
		for _, other := range a.pods {
			if other.UID != p.UID && other.Annotations[jobNote] == id && live(other) {
				a.fault("job %s runs twice, as %s and %s", id, p.Name, other.Name)
			}
		}
	}
	if room, known := a.room[node]; known && !a.lenient {
		for name, sum := range a.taken(node) {
			if has := room[name]; sum.Cmp(has) > 0 {
				a.fault("node %s has %s of %s on it, and takes %s: at last %s", node, sum.String(), name, has.String(), p.Name)
			}
		}
	}
}

// fault notes what must not be; the lock is held.
func (a *audit) fault(format string, args ...any) {
	if len(a.wrong) < 20 {
		a.wrong = append(a.wrong, a.cluster+": "+fmt.Sprintf(format, args...))
	}
}

// live says whether a pod holds something of its node.
func live(p *v1.Pod) bool {
	return p.Spec.NodeName != "" && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed
}

// waits says whether a pod is one that Poise is to place.
func waits(p *v1.Pod) bool {
	return p.Spec.SchedulerName == "poise" && p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) == 0 && p.DeletionTimestamp == nil
}

// requests gives what a pod takes of its node, itself counted.
func requests(p *v1.Pod) v1.ResourceList {
	list := helper.PodRequests(p, helper.PodResourcesOptions{})
	list[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return list
}

// taken gives what the pods on a node hold of it; the lock is held.
func (a *audit) taken(node string) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, p := range a.pods {
		if p.Spec.NodeName != node || !live(p) {
			continue
		}
		for name, amount := range requests(p) {
			s := sum[name]
			s.Add(amount)
			sum[name] = s
		}
	}
	return sum
}
