package kubelet

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	address = "127.0.0.1" // of every node
	// retryEvery is the pause before a write is tried again.
	retryEvery = 200 * time.Millisecond
	// heartbeat is the interval by default, a real kubelet's.
	heartbeat = 10 * time.Second
)

// Config says what to stand in for.
type Config struct {
	// Client reaches the API server, as somebody who may do all.
	Client *rest.Config
	// Nodes have a name, a capacity and whatever else they shall have. Allocatable
	// is the capacity where it is not given.
	Nodes []*v1.Node
	// RunFor is how long a pod runs that does not say; 0 for until it is deleted.
	RunFor time.Duration
	// Heartbeat is the interval of a node's heartbeats, 10 seconds by default.
	Heartbeat time.Duration
}

// Kubelet acts for its nodes until it is stopped.
type Kubelet struct {
	client  *kubernetes.Clientset
	http    *http.Client
	runFor  time.Duration
	seen    cache.SharedIndexInformer
	server  *http.Server
	life    context.Context // ends with Stop
	cancel  context.CancelFunc
	routine sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*node
	logs  map[types.NamespacedName]*log
}

// node is one machine.
type node struct {
	name        string
	allocatable v1.ResourceList
	down        bool
	pods        map[types.UID]*run
}

// Start registers the nodes and acts for them from then on. Nodes that are
// there already are taken over, with their pods. Nothing runs after an error.
func Start(ctx context.Context, c Config) (*Kubelet, error) {
	k, err := start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start a kubelet: %w", err)
	}
	return k, nil
}

func start(ctx context.Context, c Config) (*Kubelet, error) {
	http, err := rest.HTTPClientFor(c.Client)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfigAndClient(c.Client, http)
	if err != nil {
		return nil, err
	}
	k := &Kubelet{
		client: client, http: http, runFor: c.RunFor,
		nodes: map[string]*node{}, logs: map[types.NamespacedName]*log{},
	}
	k.life, k.cancel = context.WithCancel(context.Background())
	port, err := k.serve()
	if err != nil {
		k.Stop()
		return nil, err
	}
	for _, n := range c.Nodes {
		full := complete(n, port)
		if err := k.register(ctx, full); err != nil {
			k.Stop()
			return nil, err
		}
		k.nodes[n.Name] = &node{name: n.Name, allocatable: full.Status.Allocatable, pods: map[types.UID]*run{}}
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = heartbeat
	}
	k.routine.Go(func() { k.beat(k.life, c.Heartbeat) })
	if err := k.watch(ctx); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

// watch follows the pods that are bound to any node and returns once it has seen
// those that are there.
func (k *Kubelet) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = "spec.nodeName!="
	}))
	k.seen = factory.Core().V1().Pods().Informer()
	_, err := k.seen.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { k.see(obj.(*v1.Pod)) },
		UpdateFunc: func(_, obj any) { k.see(obj.(*v1.Pod)) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			k.forget(obj.(*v1.Pod))
		},
	})
	if err != nil {
		return err
	}
	k.routine.Go(func() { k.seen.RunWithContext(k.life) })
	if !cache.WaitForCacheSync(ctx.Done(), k.seen.HasSynced) {
		return fmt.Errorf("list the pods: %w", ctx.Err())
	}
	return nil
}

// Stop ends all that it does and leaves the nodes and pods as they are, like
// machines that lost their network.
func (k *Kubelet) Stop() {
	k.cancel()
	if k.server != nil {
		_ = k.server.Close() // of a listener that is already closed
	}
	k.routine.Wait()
	k.http.CloseIdleConnections()
}

// see takes notice of a pod as it is now.
func (k *Kubelet) see(pod *v1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.nodes[pod.Spec.NodeName]
	if n == nil || n.down {
		return
	}
	r := n.pods[pod.UID]
	if r == nil {
		ctx, cancel := context.WithCancel(k.life)
		r = newRun(pod, cancel)
		n.pods[pod.UID] = r
		k.logs[nameOf(pod)] = r.log
		k.routine.Go(func() {
			defer close(r.gone)
			defer cancel()
			k.live(ctx, n, r)
		})
	}
	if pod.DeletionTimestamp != nil {
		r.delete(pod.DeletionGracePeriodSeconds)
	}
}

// forget takes notice that a pod is no more.
func (k *Kubelet) forget(pod *v1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.nodes[pod.Spec.NodeName]
	if n == nil || n.pods[pod.UID] == nil {
		return
	}
	r := n.pods[pod.UID]
	r.cancel()
	delete(n.pods, pod.UID)
	if k.logs[nameOf(pod)] == r.log {
		delete(k.logs, nameOf(pod))
	}
}

// admit lets a pod in if the node has room.
func (k *Kubelet) admit(n *node, r *run) (ending, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var others []*v1.Pod
	for _, other := range n.pods {
		if other.admitted {
			others = append(others, other.pod)
		}
	}
	e, ok := admit(r.pod, others, n.allocatable)
	r.admitted = ok
	return e, ok
}

// hold says whether a pod takes room of its node.
func (k *Kubelet) hold(r *run, admitted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.admitted = admitted
}

// persist writes until it succeeds, what it writes to is gone, or ctx ends.
func persist(ctx context.Context, write func() error) {
	for {
		if err := write(); err == nil || apierrors.IsNotFound(err) || !sleep(ctx, retryEvery) {
			return
		}
	}
}

// sleep says whether ctx outlasted the time.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
