package kube

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
)

// The labels that every node of a cluster has beside its own.
const (
	ClusterLabel = poise.ClusterLabel // its cluster's name
	NodeLabel    = "poise.dev/node"   // its name in the cluster
)

// NodeName gives the name that the core knows a cluster's node by.
func NodeName(cluster, node string) string { return cluster + "/" + node }

// Node gives a node of a cluster in the terms of the core. What it offers is its
// allocatable, rounded down; nvidia.com/gpu are whole devices, 32 at the most.
// Whether it is ready is for its taints to say, as kube-scheduler has it.
func Node(n *v1.Node, cluster string) (poise.Node, error) {
	capacity, gpus, err := amounts(n.Status.Allocatable, true)
	if err != nil {
		return poise.Node{}, &poise.Error{
			Kind: poise.Invalid, Op: fmt.Sprintf("node %q", NodeName(cluster, n.Name)), Detail: "allocatable", Err: err,
		}
	}
	out := poise.Node{
		Name: NodeName(cluster, n.Name), Cluster: cluster, Capacity: capacity,
		Labels: labelsOf(n.Labels, poise.Label{Key: ClusterLabel, Value: cluster}, poise.Label{Key: NodeLabel, Value: n.Name}),
		Taints: taintsOf(n),
	}
	if gpus > 0 {
		out.Devices = poise.Devices{Kind: gpuKind, Model: n.Labels[gpuModelLabel], Count: int32(min(gpus, poise.MaxDevices)), Exclusive: true}
	}
	return out, out.Validate()
}

// taintsOf gives a node's taints. One that is unschedulable has the taint that
// says so even where nobody set it, so that pods are let on that tolerate it.
func taintsOf(n *v1.Node) []poise.Taint {
	var all []poise.Taint
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		all = append(all, poise.Taint{Key: t.Key, Value: t.Value, Effect: poise.Effect(t.Effect)})
	}
	cordoned := poise.Taint{Key: v1.TaintNodeUnschedulable, Effect: poise.NoSchedule}
	if n.Spec.Unschedulable && !slices.Contains(all, cordoned) {
		all = append(all, cordoned)
	}
	return all
}

// labelsOf gives labels sorted by key, with those set that are given beside.
func labelsOf(from map[string]string, set ...poise.Label) []poise.Label {
	all := make([]poise.Label, 0, len(from)+len(set))
	for key, value := range from {
		if !slices.ContainsFunc(set, func(l poise.Label) bool { return l.Key == key }) {
			all = append(all, poise.Label{Key: key, Value: value})
		}
	}
	all = append(all, set...)
	slices.SortFunc(all, func(a, b poise.Label) int { return strings.Compare(a.Key, b.Key) })
	return all
}
