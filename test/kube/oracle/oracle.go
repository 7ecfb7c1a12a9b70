package oracle

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// predicates are the plugins that are asked; the framework wants two more.
var predicates = []string{
	names.SchedulingGates, names.NodeName, names.NodeUnschedulable, names.NodeAffinity, names.TaintToleration, names.NodePorts,
	names.NodeResourcesFit, names.InterPodAffinity, names.PodTopologySpread,
}

// Predicates are the names of the plugins that may refuse a node.
func Predicates() []string {
	// Gates refuse the pod, not a node, and kube-scheduler is not asked about pods
	// that name their node.
	return slices.DeleteFunc(slices.Clone(predicates), func(name string) bool { return name == names.SchedulingGates || name == names.NodeName })
}

// World is all that a decision depends on beside the pod.
type World struct {
	Nodes      []*v1.Node
	Pods       []*v1.Pod // bound to nodes, and others, which count for nothing
	Namespaces []*v1.Namespace
}

// Verdict is where a pod may go.
type Verdict struct {
	// Gated is why the pod is not looked at at all, "" where it is.
	Gated string
	// Refused has, for each node that may not take the pod, the plugin that said so
	// first and its reasons.
	Refused map[string]Refusal
	// Scores has what each plugin thinks of each node that may take the pod, by
	// plugin and node, before it is brought to a common scale: of NodeAffinity the
	// sum of the weights of what matches, of TaintToleration the number of taints
	// that the pod had better avoid. A plugin with nothing to say is missing.
	Scores map[string]map[string]int64
}

// Refusal is why a node may not take a pod.
type Refusal struct {
	Plugin  string
	Reasons []string
}

// Oracle holds the plugins.
type Oracle struct {
	framework  framework.Framework
	snapshot   *current
	namespaces cache.Indexer
	cancel     context.CancelFunc
}

// current is the snapshot that is asked about now; plugins keep what they are
// given first.
type current struct{ *schedulercache.Snapshot }

// New makes an oracle; Close ends it.
func New() (*Oracle, error) {
	metrics.Register()
	profile, err := profile()
	if err != nil {
		return nil, fmt.Errorf("make an oracle: %w", err)
	}
	// Nobody starts the informers: what their listers show is put there.
	factory := informers.NewSharedInformerFactory(nil, 0)
	o := &Oracle{snapshot: &current{schedulercache.NewEmptySnapshot()}, namespaces: factory.Core().V1().Namespaces().Informer().GetIndexer()}
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	o.framework, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		runtime.WithInformerFactory(factory), runtime.WithSnapshotSharedLister(o.snapshot), runtime.WithParallelism(1))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("make an oracle: %w", err)
	}
	return o, nil
}

// Close ends what the framework runs in the background.
func (o *Oracle) Close() {
	o.cancel()
	runtime.WaitForShutdown(o.framework)
}

// profile is kube-scheduler's default one, with its settings and weights, without
// the plugins that are not asked.
func profile() (*config.KubeSchedulerProfile, error) {
	c, err := latest.Default()
	if err != nil {
		return nil, err
	}
	p := &c.Profiles[0]
	wanted := append([]string{names.PrioritySort, names.DefaultBinder}, predicates...)
	p.Plugins.MultiPoint.Enabled = slices.DeleteFunc(p.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool { return !slices.Contains(wanted, p.Name) })
	p.PluginConfig = slices.DeleteFunc(p.PluginConfig, func(c config.PluginConfig) bool { return !slices.Contains(wanted, c.Name) })
	return p, nil
}

// Ask says where the pod may go and how good each node is. The error is the
// framework's own.
func (o *Oracle) Ask(ctx context.Context, w World, pod *v1.Pod) (Verdict, error) {
	o.snapshot.Snapshot = schedulercache.NewSnapshot(bound(w), w.Nodes)
	spaces := make([]any, len(w.Namespaces))
	for i, n := range w.Namespaces {
		spaces[i] = n
	}
	if err := o.namespaces.Replace(spaces, ""); err != nil {
		return Verdict{}, fmt.Errorf("ask the oracle: %w", err)
	}
	for _, p := range o.framework.PreEnqueuePlugins() {
		if s := p.PreEnqueue(ctx, pod); !s.IsSuccess() {
			return Verdict{Gated: s.Message()}, nil
		}
	}
	v := Verdict{Refused: map[string]Refusal{}, Scores: map[string]map[string]int64{}}
	state := framework.NewCycleState()
	feasible, err := o.filter(ctx, state, pod, &v)
	if err == nil && len(feasible) > 0 {
		err = o.score(ctx, state, pod, feasible, &v)
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("ask the oracle: %w", err)
	}
	return v, nil
}

// bound are the pods that kube-scheduler's cache would hold: on one of the nodes
// and not over.
func bound(w World) []*v1.Pod {
	known := map[string]bool{}
	for _, n := range w.Nodes {
		known[n.Name] = true
	}
	var all []*v1.Pod
	for _, p := range w.Pods {
		if known[p.Spec.NodeName] && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			all = append(all, p)
		}
	}
	return all
}

// filter gives the nodes that may take the pod and notes the others.
func (o *Oracle) filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, v *Verdict) (feasible []fwk.NodeInfo, err error) {
	nodes, err := o.snapshot.List()
	if err != nil {
		return nil, err
	}
	only, status, _ := o.framework.RunPreFilterPlugins(ctx, state, pod)
	for _, n := range nodes {
		name := n.Node().Name
		s := status
		switch {
		case !s.IsSuccess():
		case only != nil && !only.AllNodes() && !only.NodeNames.Has(name):
			v.Refused[name] = Refusal{Plugin: names.NodeAffinity, Reasons: []string{"not among the nodes that it names"}}
			continue
		default:
			s = o.framework.RunFilterPlugins(ctx, state, pod, n)
		}
		switch {
		case s.IsSuccess():
			feasible = append(feasible, n)
		case s.IsRejected():
			v.Refused[name] = Refusal{Plugin: s.Plugin(), Reasons: s.Reasons()}
		default:
			return nil, s.AsError()
		}
	}
	return feasible, nil
}

// score notes what the plugins think of the nodes.
func (o *Oracle) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, v *Verdict) error {
	if s := o.framework.RunPreScorePlugins(ctx, state, pod, nodes); !s.IsSuccess() {
		return s.AsError()
	}
	all, s := o.framework.RunScorePlugins(ctx, state, pod, nodes)
	if !s.IsSuccess() {
		return s.AsError()
	}
	for _, n := range all {
		for _, p := range n.RawScores {
			if v.Scores[p.Name] == nil {
				v.Scores[p.Name] = map[string]int64{}
			}
			v.Scores[p.Name][n.Name] = p.Score
		}
	}
	return nil
}
