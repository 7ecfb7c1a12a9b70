package apitest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Nodes implements api.Backend.
func (b *Backend) Nodes(_ context.Context, f client.NodeFilter) (client.NodePage, error) {
	if err := b.begin(); err != nil {
		return client.NodePage{}, err
	}
	defer b.mu.Unlock()
	var list []client.Node
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[name]
		if (f.Cluster == "" || f.Cluster == n.Spec.Cluster) && (f.Class == "" || f.Class == n.Class) && (f.State == "" || f.State == n.State) {
			list = append(list, n)
		}
	}
	nodes, next, err := page(list, f.Limit, f.After)
	return client.NodePage{Nodes: nodes, Next: next}, err
}

// Node implements api.Backend.
func (b *Backend) Node(_ context.Context, name string) (client.Node, error) {
	return b.change(name, func(*client.Node) error { return nil })
}

// change changes a node by f, or gives f's error.
func (b *Backend) change(name string, f func(*client.Node) error) (client.Node, error) {
	if err := b.begin(); err != nil {
		return client.Node{}, err
	}
	defer b.mu.Unlock()
	n, ok := b.nodes[name]
	if !ok {
		return client.Node{}, missing("node", name)
	}
	if err := f(&n); err != nil {
		return client.Node{}, err
	}
	b.nodes[name] = n
	return n, nil
}

func (b *Backend) join(spec client.NodeSpec) client.Node {
	b.joined++
	n := client.Node{
		Name: spec.Name, Incarnation: b.joined, Version: 1, Class: "cpu-general", State: client.NodeReady, Spec: spec,
		Allocated: map[string]client.Quantity{}, Idle: spec.Capacity,
	}
	if spec.Drained {
		n.State = client.NodeDrained
	}
	b.nodes[spec.Name] = n
	b.happen("node-joined", "", spec.Name)
	return n
}

// JoinNode implements api.Backend.
func (b *Backend) JoinNode(_ context.Context, spec client.NodeSpec) (client.Node, error) {
	if err := b.begin(); err != nil {
		return client.Node{}, err
	}
	defer b.mu.Unlock()
	if _, ok := b.nodes[spec.Name]; ok {
		return client.Node{}, &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("join node %q", spec.Name), Detail: "a node of that name is present"}
	}
	return b.join(spec), nil
}

// UpdateNode implements api.Backend.
func (b *Backend) UpdateNode(_ context.Context, name string, spec client.NodeSpec, version uint64) (client.Node, error) {
	return b.change(name, func(n *client.Node) error {
		if n.Version != version {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("node %q", name), Detail: fmt.Sprintf("version: %d, expected %d", version, n.Version)}
		}
		n.Spec = spec
		n.Version++
		return nil
	})
}

// DrainNode implements api.Backend.
func (b *Backend) DrainNode(_ context.Context, name string, drained bool) (client.Node, error) {
	return b.change(name, func(n *client.Node) error {
		n.Spec.Drained, n.State = drained, client.NodeReady
		if drained {
			n.State = client.NodeDrained
		}
		n.Version++
		return nil
	})
}

// LeaveNode implements api.Backend.
func (b *Backend) LeaveNode(_ context.Context, name string) error {
	if _, err := b.change(name, func(*client.Node) error { return nil }); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.nodes, name)
	return nil
}

// Heartbeat implements api.Backend.
func (b *Backend) Heartbeat(_ context.Context, name string, incarnation uint64) (client.Node, error) {
	return b.change(name, func(n *client.Node) error {
		if n.Incarnation != incarnation {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("node %q", name), Detail: fmt.Sprintf("incarnation: %d, expected %d", incarnation, n.Incarnation)}
		}
		n.Heartbeat = at
		return nil
	})
}

// Clusters implements api.Backend.
func (b *Backend) Clusters(context.Context) ([]client.Cluster, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	all := map[string]client.Cluster{}
	for name, file := range b.follow {
		all[name] = client.Cluster{Name: name, Follow: file}
	}
	for _, n := range b.nodes {
		c := all[n.Spec.Cluster]
		c.Name = n.Spec.Cluster
		c.Nodes++
		if n.State == client.NodeReady {
			c.Ready++
		}
		all[c.Name] = c
	}
	list := []client.Cluster{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list, nil
}

// JoinCluster implements api.Backend.
func (b *Backend) JoinCluster(_ context.Context, name string, nodes []client.NodeSpec, follow string) (client.Cluster, error) {
	if err := b.begin(); err != nil {
		return client.Cluster{}, err
	}
	defer b.mu.Unlock()
	for i := range nodes {
		b.join(nodes[i])
	}
	if follow != "" {
		b.follow[name] = follow
	}
	return client.Cluster{Name: name, Nodes: len(nodes), Ready: len(nodes), Follow: follow}, nil
}

// JoinKubernetes implements api.Backend.
func (b *Backend) JoinKubernetes(_ context.Context, name string, k client.Kubernetes) (client.Cluster, error) {
	if err := b.begin(); err != nil {
		return client.Cluster{}, err
	}
	defer b.mu.Unlock()
	return client.Cluster{Name: name, Kubernetes: &client.KubernetesState{Kubernetes: k, State: "reading", Reason: "it is being read"}}, nil
}

// LeaveCluster implements api.Backend.
func (b *Backend) LeaveCluster(_ context.Context, name string) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	before := len(b.nodes) + len(b.follow)
	maps.DeleteFunc(b.nodes, func(_ string, n client.Node) bool { return n.Spec.Cluster == name })
	delete(b.follow, name)
	if len(b.nodes)+len(b.follow) == before {
		return missing("cluster", name)
	}
	return nil
}

// Assignments implements api.Backend: every job that waits is for every node.
func (b *Backend) Assignments(_ context.Context, node string, _ uint64, _ time.Duration) (client.Assignments, error) {
	if _, err := b.change(node, func(*client.Node) error { return nil }); err != nil {
		return client.Assignments{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []client.Assignment{}
	for i := range b.jobs {
		j := &b.jobs[i]
		list = append(list, client.Assignment{
			Placement: "p-" + j.ID, Job: j.ID, Name: j.Name, Tenant: j.Tenant, Node: node, State: client.Starting,
			Request: j.Spec.Request, Command: j.Spec.Command, Env: j.Spec.Env, Dir: j.Spec.Dir,
		})
	}
	return client.Assignments{Revision: 1, Assignments: list}, nil
}

// Report implements api.Backend.
func (b *Backend) Report(_ context.Context, placement string, r client.TaskReport) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	b.reports[placement] = r
	return nil
}
