package client

import (
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// NodeSpec is a node as it describes itself. Its JSON is a document of a fleet
// file.
type NodeSpec struct {
	Name     string              `json:"node" example:"n1"`
	Cluster  string              `json:"cluster,omitempty"`
	Capacity map[string]Quantity `json:"capacity,omitempty" doc:"Amounts per resource, devices not included"`
	Devices  *NodeDevices        `json:"devices,omitempty"`
	Labels   map[string]string   `json:"labels,omitempty"`
	Taints   []Taint             `json:"taints,omitempty"`
	Ready    *bool               `json:"ready,omitempty" doc:"true where it is not given"`
	Drained  bool                `json:"drained,omitempty"`
}

// NodeDevices are the devices of a node: count of one kind and one model.
type NodeDevices struct {
	Kind      string `json:"kind" example:"gpu"`
	Model     string `json:"model,omitempty"`
	Count     int32  `json:"count"`
	Exclusive bool   `json:"exclusive,omitempty" doc:"Only whole devices are given out"`
}

// Taint keeps jobs off a node unless they tolerate it.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect" doc:"NoSchedule, NoExecute or PreferNoSchedule"`
}

// NewNodeSpec gives the spec that is read as this node.
func NewNodeSpec(n *poise.Node) NodeSpec {
	s := NodeSpec{Name: n.Name, Cluster: n.Cluster, Capacity: Amounts(n.Capacity), Drained: n.Drained}
	if n.NotReady {
		s.Ready = new(bool)
	}
	if d := &n.Devices; d.Count > 0 {
		s.Devices = &NodeDevices{Kind: d.Kind, Model: d.Model, Count: d.Count, Exclusive: d.Exclusive}
	}
	for _, l := range n.Labels {
		if s.Labels == nil {
			s.Labels = make(map[string]string, len(n.Labels))
		}
		s.Labels[l.Key] = l.Value
	}
	for _, t := range n.Taints {
		s.Taints = append(s.Taints, Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	return s
}

// Node is a node as the daemon knows it.
type Node struct {
	Name        string              `json:"name"`
	Incarnation uint64              `json:"incarnation" doc:"Another one for every time that a node joined under this name"`
	Version     uint64              `json:"version" doc:"Another one with every visible change; the ETag"`
	Class       string              `json:"class,omitempty"`
	State       string              `json:"state" enum:"ready,drained,not-ready"`
	Spec        NodeSpec            `json:"spec"`
	Allocated   map[string]Quantity `json:"allocated"`
	Idle        map[string]Quantity `json:"idle" doc:"Capacity without what is allocated; below 0 where capacity shrank"`
	DeviceIdle  []int64             `json:"device_idle,omitempty" doc:"Idle milli-devices, per device"`
	Tasks       int                 `json:"tasks"`
	Heartbeat   time.Time           `json:"heartbeat,omitzero" doc:"When it was last heard of; nothing for a node that need not call"`
}

// States of a node.
const (
	NodeReady    = "ready"
	NodeDrained  = "drained"
	NodeNotReady = "not-ready" // and drained or not
)

// NodeFilter says which nodes are listed. They come by name.
type NodeFilter struct {
	Cluster, Class, State string // "" = any
	Limit                 int    // at most so many, 1 to MaxPage
	After                 string // NodePage.Next of the page before, "" = from the first
}

// NodePage is some of the nodes that were asked for.
type NodePage struct {
	Nodes []Node `json:"nodes"`
	Next  string `json:"next,omitempty" doc:"The parameter after of the next page; nothing where this is the last"`
}

// Cluster is a set of nodes that joined together.
type Cluster struct {
	Name   string `json:"name"`
	Nodes  int    `json:"nodes"`
	Ready  int    `json:"ready"`
	Follow string `json:"follow,omitempty" doc:"File on the daemon's machine that its nodes are kept equal to"`
	// Kubernetes is set for a cluster of Kubernetes.
	Kubernetes *KubernetesState `json:"kubernetes,omitempty"`
}

// Kubernetes says how a cluster of Kubernetes is reached, and what of it is used.
type Kubernetes struct {
	Kubeconfig    string `json:"kubeconfig,omitempty" doc:"File on the daemon's machine, absolute; none = the cluster that the daemon runs in"`
	Context       string `json:"context,omitempty" doc:"Of the kubeconfig; none = its current one"`
	SchedulerName string `json:"scheduler_name,omitempty" doc:"Pods that ask for it are placed; none = poise"`
	NodeSelector  string `json:"node_selector,omitempty" doc:"Labels of the nodes that are used; none = all"`
}

// KubernetesState is how a cluster of Kubernetes is doing.
type KubernetesState struct {
	Kubernetes
	State  string `json:"state" enum:"reading,joined,lost,refused"`
	Reason string `json:"reason,omitempty" doc:"Why it is lost, refused or not read yet"`
}

// Class is a group of similar nodes, with the least and the most that they have.
type Class struct {
	ID           uint32        `json:"id"`
	Name         string        `json:"name"`
	Pinned       bool          `json:"pinned,omitempty" doc:"An operator's own class"`
	Nodes        int           `json:"nodes" doc:"Nodes that are in it now"`
	Capacity     []ClassRange  `json:"capacity"`
	Devices      []ClassDevice `json:"devices,omitempty"`
	MedianCPU    Quantity      `json:"median_cpu"`
	MedianMemory Quantity      `json:"median_memory"`
	Ratio        float64       `json:"memory_per_core" doc:"Median GiB of memory per core"`
	Build        uint64        `json:"build" doc:"Number of the model that it is of"`
}

// ClassRange is the least and the most of one resource in a class.
type ClassRange struct {
	Resource string   `json:"resource"`
	Least    Quantity `json:"least"`
	Most     Quantity `json:"most"`
}

// ClassDevice is the fewest and the most devices of one kind and model.
type ClassDevice struct {
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
	Least int32  `json:"least"`
	Most  int32  `json:"most"`
}
