package oracle

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// What is drawn from is small, so that pods, nodes and rules meet.
var (
	spaces   = []string{"blue", "green", "red"}
	teams    = []string{"one", "two"}
	podKeys  = []string{"app", "tier"}
	nodeKeys = []string{"zone", "disk", v1.LabelHostname}
	values   = []string{"a", "b", "1", "2"}

	taintKeys = []string{"dedicated", v1.TaintNodeUnschedulable, "spot"}
	effects   = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}
)

// Resources beside the usual ones.
const (
	foreign = v1.ResourceName("example.com/thing")
	gpu     = v1.ResourceName("nvidia.com/gpu")
	huge    = v1.ResourceName(v1.ResourceHugePagesPrefix + "2Mi")
)

const (
	maxNodes = 6
	maxPods  = 12
)

// Focus is what the draws are about. Where all is drawn, one predicate hides what
// another would say.
type Focus int

const (
	Everything Focus = iota
	Affinity         // rules about other pods, nothing else
	Spread           // spread rules, and what decides on the nodes that they count
	Preference       // what had better be of nodes
)

// DrawFocus draws one.
func DrawFocus(t *rapid.T) Focus { return one(t, "focus", Everything, Affinity, Spread, Preference) }

// keys and values are those of pods' labels; fewer meet more often.
func (f Focus) keys() []string {
	if f == Everything {
		return podKeys
	}
	return podKeys[:1]
}

func (f Focus) values() []string {
	if f == Everything {
		return values
	}
	return values[:2]
}

// spaces are the namespaces of pods; a spread rule counts in one.
func (f Focus) spaces() []string {
	if f == Spread {
		return spaces[:1]
	}
	return spaces
}

// one draws an element.
func one[T any](t *rapid.T, label string, from ...T) T { return rapid.SampledFrom(from).Draw(t, label) }

// chance is true once in n times; it shrinks to false.
func chance(t *rapid.T, label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

// DrawWorld draws a few nodes and namespaces with pods on them, some of which
// are over, ending or on nodes that are gone.
func DrawWorld(t *rapid.T, f Focus) World {
	var w World
	for _, name := range spaces {
		labels := map[string]string{v1.LabelMetadataName: name}
		if chance(t, "team of "+name, 2) {
			labels["team"] = one(t, "team", teams...)
		}
		w.Namespaces = append(w.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	fewest := 1
	if f != Everything {
		fewest = 3
	}
	for i := range rapid.IntRange(fewest, maxNodes).Draw(t, "nodes") {
		w.Nodes = append(w.Nodes, drawNode(t, fmt.Sprintf("n%d", i), f))
	}
	for i := range rapid.IntRange(fewest-1, maxPods).Draw(t, "pods") {
		p, ok := DrawPod(t, fmt.Sprintf("old-%d", i), f)
		if !ok {
			continue
		}
		p.Spec.NodeName = fmt.Sprintf("n%d", rapid.IntRange(0, len(w.Nodes)).Draw(t, "node")) // one too many
		p.Spec.SchedulingGates = nil
		p.Status.Phase = one(t, "phase", v1.PodRunning, v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed)
		if chance(t, "ending", 6) {
			p.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
			p.DeletionGracePeriodSeconds = new(int64(30))
		}
		w.Pods = append(w.Pods, p)
	}
	return w
}

func drawNode(t *rapid.T, name string, f Focus) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if !chance(t, "no host name", 6) {
		n.Labels[v1.LabelHostname] = name
	}
	for _, key := range []string{"zone", "disk"} {
		if !chance(t, "no "+key, 4) {
			n.Labels[key] = one(t, key, values...)
		}
	}
	if f != Everything {
		n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}
		if f == Spread && chance(t, "taint", 3) {
			n.Spec.Taints = []v1.Taint{{Key: "spot", Effect: v1.TaintEffectNoSchedule}}
		}
		if f == Preference {
			n.Spec.Taints = drawTaints(t, v1.TaintEffectPreferNoSchedule)
		}
		return n
	}
	n.Spec.Unschedulable = chance(t, "unschedulable", 12)
	n.Spec.Taints = drawTaints(t, effects...)
	amounts := v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse(one(t, "cpu", "16", "8", "2500m", "1", "0")),
		v1.ResourceMemory: resource.MustParse(one(t, "memory", "16Gi", "8Gi", "1500M")),
		v1.ResourcePods:   resource.MustParse(one(t, "pods", "110", "110", "2", "0")),
	}
	drawAmounts(t, amounts, 2, v1.ResourceEphemeralStorage, "10Gi", "1Gi")
	drawAmounts(t, amounts, 2, foreign, "3", "1", "0")
	drawAmounts(t, amounts, 2, gpu, "2", "1", "0")
	drawAmounts(t, amounts, 2, huge, "4Mi", "2Mi")
	n.Status.Capacity, n.Status.Allocatable = amounts, amounts
	return n
}

func drawTaints(t *rapid.T, effects ...v1.TaintEffect) (all []v1.Taint) {
	for range some(t, "taints", 3, 2) {
		all = append(all, v1.Taint{Key: one(t, "taint", taintKeys...), Value: one(t, "value", "", "a", "b"), Effect: one(t, "effect", effects...)})
	}
	return all
}

// DrawPod draws a pod as it is stored; not ok are those that the API server would
// refuse.
func DrawPod(t *rapid.T, name string, f Focus) (*v1.Pod, bool) {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: one(t, "namespace", f.spaces()...), UID: types.UID(name),
		Labels: drawLabels(t, "labels", f.keys(), f.values()),
	}}
	s := &p.Spec
	s.TerminationGracePeriodSeconds = new(int64(30))
	switch f {
	case Everything:
		drawContainers(t, s)
		if chance(t, "selects nodes", 5) {
			s.NodeSelector = drawLabels(t, "node selector", nodeKeys, values)
		}
		s.Affinity = drawAffinity(t)
		s.Tolerations = drawTolerations(t)
		if chance(t, "spreads", 3) {
			s.TopologySpreadConstraints = drawSpread(t, f)
		}
		if chance(t, "gated", 20) {
			s.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
		}
	case Affinity:
		s.Containers = []v1.Container{{Name: "c", Image: "none"}}
		s.Affinity = drawPodAffinity(t, f)
	case Spread:
		s.Containers = []v1.Container{{Name: "c", Image: "none"}}
		if chance(t, "selects nodes", 3) {
			s.NodeSelector = drawLabels(t, "node selector", nodeKeys[:1], f.values())
		}
		if chance(t, "tolerates", 3) {
			s.Tolerations = []v1.Toleration{{Key: "spot", Operator: v1.TolerationOpExists}}
		}
		s.TopologySpreadConstraints = drawSpread(t, f)
	case Preference:
		s.Containers = []v1.Container{{Name: "c", Image: "none"}}
		s.Tolerations = drawTolerations(t)
		s.Affinity = &v1.Affinity{NodeAffinity: drawPreference(t)}
	}
	stored, err := Stored(p)
	return stored, err == nil
}

func drawLabels(t *rapid.T, label string, keys, values []string) map[string]string {
	labels := map[string]string{}
	for _, key := range keys {
		if !chance(t, label+" without "+key, 2) {
			labels[key] = one(t, key, values...)
		}
	}
	return labels
}

func drawContainers(t *rapid.T, s *v1.PodSpec) {
	for i := range rapid.IntRange(1, 2).Draw(t, "containers") {
		s.Containers = append(s.Containers, drawContainer(t, fmt.Sprintf("c%d", i)))
	}
	for i := range some(t, "init containers", 4, 2) {
		c := drawContainer(t, fmt.Sprintf("i%d", i))
		if chance(t, "sidecar", 2) {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		s.InitContainers = append(s.InitContainers, c)
	}
	if chance(t, "overhead", 6) {
		s.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("100Mi")}
	}
	if chance(t, "amounts of the pod", 6) {
		s.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(one(t, "cpu of the pod", "7", "3")), v1.ResourceMemory: resource.MustParse(one(t, "memory of the pod", "8Gi", "4Gi")),
		}}
	}
}

func drawContainer(t *rapid.T, name string) v1.Container {
	c := v1.Container{Name: name, Image: "none"}
	requests := v1.ResourceList{}
	drawAmounts(t, requests, 2, v1.ResourceCPU, "500m", "1", "1500m", "0")
	drawAmounts(t, requests, 2, v1.ResourceMemory, "500Mi", "1Gi", "1500M")
	drawAmounts(t, requests, 5, v1.ResourceEphemeralStorage, "1Gi", "0")
	drawAmounts(t, requests, 5, foreign, "1", "2", "0")
	drawAmounts(t, requests, 5, gpu, "1", "2")
	drawAmounts(t, requests, 5, huge, "2Mi", "4Mi")
	// Huge pages need memory beside them.
	if _, ok := requests[huge]; ok {
		drawAmounts(t, requests, 1, v1.ResourceMemory, "500Mi", "1Gi")
	}
	// Of what cannot be shared, a container gets as much as it asks for.
	limits := v1.ResourceList{}
	for _, name := range []v1.ResourceName{foreign, gpu, huge} {
		if q, ok := requests[name]; ok {
			limits[name] = q
		}
	}
	c.Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
	if chance(t, "takes a port", 4) {
		c.Ports = []v1.ContainerPort{{
			ContainerPort: 80, HostPort: one(t, "port", int32(8080), 8081, 0),
			HostIP:   one(t, "address", "", "0.0.0.0", "127.0.0.1", "10.0.0.1"),
			Protocol: one(t, "protocol", "", v1.ProtocolTCP, v1.ProtocolUDP),
		}}
	}
	return c
}

// some draws how many, up to most, once in n times, else 0.
func some(t *rapid.T, label string, n, most int) int {
	if !chance(t, "any "+label, n) {
		return 0
	}
	return rapid.IntRange(1, most).Draw(t, label)
}

// drawAmounts adds one of the amounts of a resource, once in n times.
func drawAmounts(t *rapid.T, to v1.ResourceList, n int, name v1.ResourceName, amounts ...string) {
	if chance(t, "some "+string(name), n) {
		to[name] = resource.MustParse(one(t, string(name), amounts...))
	}
}

func drawTolerations(t *rapid.T) (all []v1.Toleration) {
	for range rapid.IntRange(0, 2).Draw(t, "tolerations") {
		o := v1.Toleration{
			Key: one(t, "tolerated", append([]string{""}, taintKeys...)...), Operator: one(t, "operator", "", v1.TolerationOpEqual, v1.TolerationOpExists),
			Effect: one(t, "effect", append([]v1.TaintEffect{""}, effects...)...),
		}
		switch {
		case o.Operator == v1.TolerationOpExists:
		case o.Key == "":
			o.Operator = v1.TolerationOpExists
		default:
			o.Value = one(t, "value", "", "a", "b")
		}
		all = append(all, o)
	}
	return all
}
