package kube

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say which cluster, and what of it.
type Options struct {
	Name          string // of the cluster, without a slash
	Kubeconfig    []byte // empty: the cluster that this process runs in
	Context       string // of the kubeconfig; "" = its current one
	SchedulerName string // pods that ask for it are placed; "" = poise
	NodeSelector  string // labels of the nodes that are used; "" = all
	Log           *slog.Logger
	Now           func() poise.Time
	Guard         Guard // says whether this replica leads; nil = there is no other one

	config *rest.Config // of a test
}

// Times that nobody needs to set: how long one call may take, and how long a
// cluster may not be read before it is lost.
const (
	callTimeout = 10 * time.Second
	lostAfter   = 30 * time.Second
)

// bindWorkers is how many binds are under way at once: with 32 of them an API
// server bound 919 pods a second on two cores, with 8 of them 670, and with 128
// 1,062.
const bindWorkers = 32

// Cluster is one joined cluster.
type Cluster struct {
	name   string
	nodes  string // selector
	client *client
	log    *slog.Logger
	now    func() poise.Time
	guard  Guard // nil = there is no other replica
	board  engine.Board
	slots  chan struct{}
	events *eventLog
	// reporter is which instance events are from.
	reporter string

	mu      sync.Mutex
	world   *world
	synced  bool
	term    string                          // that what is written is stamped with, "" = none
	noFence string                          // why there is none, as it was said
	tried   map[string]types.UID            // binds of which nobody knows what became, by placement
	made    map[string]types.NamespacedName // pods that were made for jobs, or may have been, by placement
	doubt   map[string]time.Time            // when a write was sent last of which nobody knows what became, by placement
}

var _ engine.Engine = (*Cluster)(nil)

// New gives a cluster that is not read yet; Follow reads it.
func New(o Options) (*Cluster, error) {
	op := fmt.Sprintf("join cluster %q", o.Name)
	if o.Name == "" || strings.ContainsAny(o.Name, "/ ") {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "name: expected one without slashes and spaces"}
	}
	if _, err := labels.Parse(o.NodeSelector); err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "node selector", Err: err}
	}
	config, err := restConfig(o.Kubeconfig, o.Context, o.config)
	if err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "kubeconfig", Err: err}
	}
	client, err := newClient(config, o.Guard)
	if err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "kubeconfig", Err: err}
	}
	scheduler := o.SchedulerName
	if scheduler == "" {
		scheduler = "poise"
	}
	c := &Cluster{
		name: o.Name, nodes: o.NodeSelector, client: client, log: o.Log.With("cluster", o.Name), now: o.Now, guard: o.Guard,
		slots: make(chan struct{}, bindWorkers), tried: map[string]types.UID{}, made: map[string]types.NamespacedName{},
		doubt:  map[string]time.Time{},
		events: newEventLog(), reporter: scheduler,
	}
	c.world = newWorld(o.Name, scheduler, o.Now, func(s engine.Status) { c.board.Post(s) })
	return c, nil
}

// restConfig says how an API server is reached: as a test says, by a kubeconfig, or
// as a pod does.
func restConfig(kubeconfig []byte, current string, test *rest.Config) (*rest.Config, error) {
	if test != nil {
		return rest.CopyConfig(test), nil
	}
	if len(kubeconfig) == 0 {
		return rest.InClusterConfig()
	}
	file, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	return clientcmd.NewNonInteractiveClientConfig(*file, current, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
}

// Watch implements engine.Engine. Tasks are known once Follow has read the cluster.
func (c *Cluster) Watch(ctx context.Context, f func(engine.Status)) error {
	return c.board.Watch(ctx, f)
}

// Task gives what was last told of a task, and whether it is known.
func (c *Cluster) Task(placement string) (engine.Status, bool) { return c.board.Get(placement) }

// ready says that the cluster is not read yet, nil where it is. The lock is held.
func (c *Cluster) ready(op string) error {
	if c.synced {
		return nil
	}
	return &poise.Error{Kind: poise.Unavailable, Op: op, Detail: fmt.Sprintf("cluster %q: not read yet", c.name)}
}

// find gives a pod that is there, by job. The lock is held.
func (c *Cluster) find(op string, job types.UID) (*podView, error) {
	if err := c.ready(op); err != nil {
		return nil, err
	}
	v := c.world.pods[job]
	if v == nil {
		return nil, &poise.Error{Kind: poise.NotFound, Op: op, Detail: "pod: gone"}
	}
	return v, nil
}

// nodeOf gives the name that the cluster knows a node of the core by.
func (c *Cluster) nodeOf(name string) (string, bool) {
	return strings.CutPrefix(name, c.name+"/")
}

// terminalOrGone says whether a pod will not be placed any more.
func terminalOrGone(p *v1.Pod) bool { return Terminal(p) || p.DeletionTimestamp != nil }
