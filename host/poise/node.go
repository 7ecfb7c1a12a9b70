package poise

import (
	"fmt"

	"github.com/poise-sched/poise/host/resource"
)

// Node is a machine as it joined or as it last described itself.
type Node struct {
	Name     string
	Cluster  string // the cluster it joined with; may be empty
	Capacity resource.List
	Devices  Devices
	Labels   []Label // sorted by key, distinct
	Taints   []Taint
	NotReady bool // the engine does not vouch for it now
	Drained  bool // an operator wants no new tasks on it
}

// ClusterLabel is the label that a node of a cluster of Kubernetes has, and no other
// node: the name of its cluster.
const ClusterLabel = "poise.dev/cluster"

// ClassLabel is the label that holds the name of a node's class.
const ClassLabel = "poise.dev/class"

// Devices are the devices of a node: Count of one kind and one model, numbered
// from 0. Zero value: none.
type Devices struct {
	Kind      string
	Model     string
	Count     int32
	Exclusive bool // only whole devices are given out
}

// Validate checks every field and names the first that is wrong.
func (n *Node) Validate() error {
	op := fmt.Sprintf("node %q", n.Name)
	if err := validName(op, "name", n.Name); err != nil {
		return err
	}
	if n.Cluster != "" {
		if err := validName(op, "cluster", n.Cluster); err != nil {
			return err
		}
	}
	if err := n.Capacity.Validate(); err != nil {
		return &Error{Kind: Invalid, Op: op, Detail: "capacity", Err: err}
	}
	if err := n.Devices.validate(op, n.Capacity); err != nil {
		return err
	}
	if err := validLabels(op, n.Labels); err != nil {
		return err
	}
	for i := range n.Taints {
		if err := n.Taints[i].Validate(); err != nil {
			return &Error{Kind: Invalid, Op: op, Err: err}
		}
	}
	return nil
}

func (d *Devices) validate(op string, capacity resource.List) error {
	if d.Count == 0 {
		if d.Kind != "" || d.Model != "" {
			return invalid(op, "devices: kind or model without a count, expected a count of 1 or more")
		}
		return nil
	}
	if d.Count < 0 || d.Count > MaxDevices {
		return invalid(op, fmt.Sprintf("devices: count %d, expected 1 to %d", d.Count, MaxDevices))
	}
	if err := validName(op, "devices: kind", d.Kind); err != nil {
		return err
	}
	if d.Model != "" {
		if err := validName(op, "devices: model", d.Model); err != nil {
			return err
		}
	}
	if _, ok := capacity.Find(d.Kind); ok {
		return invalid(op, fmt.Sprintf("devices: %s: both a capacity and a device kind, expected one of them", d.Kind))
	}
	return nil
}

// Validate checks that the labels are sorted and distinct.
func (l *NodeLabels) Validate() error {
	return validLabels(fmt.Sprintf("node %q", l.Node), l.Labels)
}

func validLabels(op string, labels []Label) error {
	for i := range labels {
		if labels[i].Key == "" {
			return invalid(op, "labels: empty key, expected a label key")
		}
		if i > 0 && labels[i-1].Key >= labels[i].Key {
			return invalid(op, fmt.Sprintf("labels: %q after %q, expected sorted and distinct", labels[i].Key, labels[i-1].Key))
		}
	}
	return nil
}
