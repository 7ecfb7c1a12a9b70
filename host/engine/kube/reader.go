package kube

import (
	"fmt"
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	helper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"
)

// Reader puts the pods of one cluster in the terms of the core. It is pure as far
// as its functions are.
type Reader struct {
	Cluster string
	// Tenant gives the tenant of a namespace; nil: it has the namespace's name.
	Tenant func(namespace string) poise.TenantID
	// Spaces gives the namespaces whose labels match, sorted. A rule about other
	// pods holds the answer, so who reads a pod reads it again when it changes.
	Spaces func(labels.Selector) []string
}

// maxName is the longest name that the core takes.
const maxName = 253

// Gated says whether a pod is not to be placed yet.
func Gated(pod *v1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// Terminal says whether a pod is over and holds nothing of its node.
func Terminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Job gives a pod that waits as a job, and why it must not be placed all the same;
// what cannot be said of it is left out of the job then. The job's id is the
// pod's uid. Whether it starts with others is not the pod's alone to say.
func (r *Reader) Job(pod *v1.Pod) (poise.Job, []string) {
	refused := Classify(pod)
	refuse := func(format string, args ...any) { refused = append(refused, fmt.Sprintf(format, args...)) }
	job := poise.Job{
		ID: poise.JobID(pod.UID), Name: PodName(pod.Namespace, pod.Name), Tenant: r.tenant(pod.Namespace),
		Priority: corev1.PodPriority(pod), Tasks: 1, Labels: labelsOf(pod.Labels), RunTime: runTime(pod),
		Selectors: r.nodeSelector(pod.Spec.NodeSelector), Pod: &poise.Pod{Cluster: r.Cluster, Space: pod.Namespace},
	}
	request, err := r.request(pod, helper.PodResourcesOptions{})
	if err != nil {
		refuse("requests: %v", err)
	}
	if request.Device.Count > poise.MaxDevices {
		refuse("requests %d %s, expected at most %d", request.Device.Count, gpuResource, poise.MaxDevices)
		request.Device = poise.DeviceRequest{}
	}
	job.Request = request
	for i := range pod.Spec.Tolerations {
		if t, known := toleration(&pod.Spec.Tolerations[i]); known {
			job.Tolerations = append(job.Tolerations, t)
		}
	}
	p := job.Pod
	p.NoPreemption = pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == v1.PreemptNever
	p.AnyOf = required(pod.Spec.Affinity)
	if p.Prefer, err = preferred(pod.Spec.Affinity); err != nil {
		refuse("preferred node affinity: %v", err)
	}
	p.Ports = portsOf(&pod.Spec)
	if p.Rules, err = r.rules(pod); err != nil {
		refuse("pod affinity: %v", err)
	}
	if p.Spread, err = r.spread(pod); err != nil {
		refuse("topology spread: %v", err)
	}
	if _, err := groupOf(pod); err != nil {
		refuse("gang: %v", err)
	}
	if err := job.Validate(); err != nil {
		refuse("%v", err)
		job.Request, job.Selectors, job.Tolerations, job.Pod = poise.Request{}, nil, nil, &poise.Pod{Cluster: r.Cluster, Space: pod.Namespace}
	}
	return job, refused
}

// Occupant gives a pod that is on a node without a decision of Poise, and whether
// it holds anything there. What cannot be said of it is left out.
func (r *Reader) Occupant(pod *v1.Pod) (poise.Occupant, bool) {
	if pod.Spec.NodeName == "" || Terminal(pod) {
		return poise.Occupant{}, false
	}
	o := poise.Occupant{
		ID: string(pod.UID), Name: PodName(pod.Namespace, pod.Name), Node: NodeName(r.Cluster, pod.Spec.NodeName),
		Labels: labelsOf(pod.Labels), Ending: pod.DeletionTimestamp != nil,
	}
	// The node has room for an amount that cannot be held: such a pod was put there
	// by hand, and the node refuses it.
	o.Request, _ = r.request(pod, helper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true})
	o.Request.Device.Count = min(o.Request.Device.Count, poise.MaxDevices)
	rules, _ := r.rules(pod)
	o.Pod = &poise.Pod{Cluster: r.Cluster, Space: pod.Namespace, Ports: portsOf(&pod.Spec), Rules: rules}
	if o.Pod.Validate("") != nil {
		o.Pod.Rules = nil
	}
	return o, true
}

// PodName gives the name that people know a pod by, cut to what the core takes.
func PodName(namespace, name string) string {
	full := namespace + "/" + name
	return full[:min(len(full), maxName)]
}

func (r *Reader) tenant(namespace string) poise.TenantID {
	if r.Tenant == nil {
		return poise.TenantID(namespace)
	}
	return r.Tenant(namespace)
}

// here matches what is of the cluster.
func (r *Reader) here() poise.Selector {
	return poise.Selector{Key: ClusterLabel, Op: poise.In, Values: []string{r.Cluster}}
}

func (r *Reader) nodeSelector(want map[string]string) []poise.Selector {
	all := []poise.Selector{r.here()}
	for _, l := range labelsOf(want) {
		all = append(all, poise.Selector{Key: l.Key, Op: poise.In, Values: []string{l.Value}})
	}
	return all
}

// request gives what a pod takes of its node: its containers, those that run
// before them, its overhead, and one of the node's pods.
func (r *Reader) request(pod *v1.Pod, options helper.PodResourcesOptions) (poise.Request, error) {
	list, gpus, err := amounts(helper.PodRequests(pod, options), false)
	one := resource.Amount{Name: podsDimension, Value: 1000}
	at, _ := slices.BinarySearchFunc(list, one, func(a, b resource.Amount) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	request := poise.Request{Amounts: slices.Insert(list, at, one)}
	if gpus > 0 {
		request.Device = poise.DeviceRequest{Kind: gpuKind, Count: int32(min(gpus, math.MaxInt32)), Milli: poise.WholeDevice}
	}
	return request, err
}

// runTime gives how long a pod may run, 0 = for ever.
func runTime(pod *v1.Pod) poise.Span {
	if s := pod.Spec.ActiveDeadlineSeconds; s != nil && *s > 0 {
		return poise.Span(min(*s, math.MaxInt64/1000) * 1000)
	}
	return 0
}

// toleration gives a toleration, and false for one that tolerates nothing.
func toleration(t *v1.Toleration) (poise.Toleration, bool) {
	out := poise.Toleration{Key: t.Key, Value: t.Value, Effect: poise.Effect(t.Effect)}
	switch t.Operator {
	case v1.TolerationOpExists:
		out.Exists, out.Value = true, ""
	case "", v1.TolerationOpEqual:
	default:
		return out, false
	}
	return out, true
}

// portsOf gives the ports of the node that a pod takes: those of its containers,
// and of those started before that run beside them.
func portsOf(spec *v1.PodSpec) []poise.Port {
	var all []poise.Port
	add := func(c *v1.Container) {
		for i := range c.Ports {
			p := &c.Ports[i]
			if p.HostPort <= 0 {
				continue
			}
			port := poise.Port{Protocol: string(p.Protocol), IP: p.HostIP, Number: p.HostPort}
			if port.Protocol == "" {
				port.Protocol = string(v1.ProtocolTCP)
			}
			if port.IP == "0.0.0.0" {
				port.IP = ""
			}
			if !slices.Contains(all, port) {
				all = append(all, port)
			}
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return all
}
