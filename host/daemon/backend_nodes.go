package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Nodes implements api.Backend.
func (d *Daemon) Nodes(_ context.Context, f client.NodeFilter) (client.NodePage, error) {
	p := d.board.current.Load()
	names := make([]string, 0, len(p.rowOf))
	for name := range p.rowOf {
		if name > f.After {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	page := client.NodePage{Nodes: []client.Node{}}
	for _, name := range names {
		n := d.node(p, p.rowOf[name])
		if f.Cluster != "" && n.Spec.Cluster != f.Cluster || f.Class != "" && n.Class != f.Class || f.State != "" && n.State != f.State {
			continue
		}
		if len(page.Nodes) == f.Limit {
			page.Next = page.Nodes[f.Limit-1].Name
			break
		}
		page.Nodes = append(page.Nodes, n)
	}
	return page, nil
}

// Node implements api.Backend.
func (d *Daemon) Node(_ context.Context, name string) (client.Node, error) {
	p := d.board.current.Load()
	row, err := p.row(name)
	if err != nil {
		return client.Node{}, err
	}
	return d.node(p, row), nil
}

// node gives a row as it goes over the wire.
func (d *Daemon) node(p *published, row uint32) client.Node {
	spec := p.snap.NodeOf(row)
	n := client.Node{
		Name: spec.Name, Incarnation: p.snap.Incarnation(row), Version: p.snap.RowVersion(row), State: client.NodeReady,
		Spec: client.NewNodeSpec(&spec), Allocated: map[string]client.Quantity{}, Idle: map[string]client.Quantity{}, Tasks: p.snap.Running(row),
	}
	n.Class, _ = model.ClassOf(spec.Labels)
	switch {
	case spec.NotReady:
		n.State = client.NodeNotReady
	case spec.Drained:
		n.State = client.NodeDrained
	}
	for dim, name := range p.snap.Dims() {
		capacity, allocated := p.snap.Capacity(row, dim), p.snap.Allocated(row, dim)
		if capacity == 0 && allocated == 0 {
			continue
		}
		n.Allocated[name] = client.Quantity(resource.Format(name, allocated))
		n.Idle[name] = client.Quantity(resource.Format(name, capacity-allocated))
	}
	for _, free := range p.snap.Free(row) {
		n.DeviceIdle = append(n.DeviceIdle, int64(free))
	}
	d.follows.mu.Lock()
	defer d.follows.mu.Unlock()
	n.Heartbeat = d.follows.heard[n.Name]
	return n
}

// JoinNode implements api.Backend. A node that joins by itself has an executor
// of its own.
func (d *Daemon) JoinNode(ctx context.Context, spec client.NodeSpec) (client.Node, error) {
	n, err := api.ParseNode(spec)
	if err != nil {
		return client.Node{}, err
	}
	n.Cluster = externalCluster
	d.hear(n.Name)
	return d.changed(ctx, n.Name, func(c *core) error { return d.joined(c, n) })
}

func (d *Daemon) hear(name string) {
	d.follows.mu.Lock()
	defer d.follows.mu.Unlock()
	d.follows.heard[name] = time.Now()
}

// joined joins one node and looks whether the classes still fit.
func (d *Daemon) joined(c *core, n poise.Node) error {
	if err := c.join(n); err != nil {
		return err
	}
	return c.classify(modelSettings(&d.options.Config.Current().Config), false)
}

// changed gives a node as it is after a change.
func (d *Daemon) changed(ctx context.Context, name string, change func(*core) error) (client.Node, error) {
	err := d.durably(ctx, func(c *core) error {
		if err := change(c); err != nil {
			return err
		}
		c.publish()
		return nil
	})
	if err != nil {
		return client.Node{}, err
	}
	return d.Node(ctx, name)
}

// UpdateNode implements api.Backend.
func (d *Daemon) UpdateNode(ctx context.Context, name string, spec client.NodeSpec, version uint64) (client.Node, error) {
	n, err := api.ParseNode(spec)
	if err != nil {
		return client.Node{}, err
	}
	if n.Name != name {
		return client.Node{}, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("node %q", name), Detail: fmt.Sprintf("node: %q, expected %q", n.Name, name)}
	}
	return d.changed(ctx, name, func(c *core) error {
		row, ok := c.loop.State().Row(name)
		if !ok {
			return noNode(name)
		}
		view := c.loop.State().View()
		if got := view.RowVersion(row); got != version {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("node %q", name), Detail: fmt.Sprintf("version: %d, expected %d: it has changed since it was read", version, got)}
		}
		n.Cluster = view.Cluster(row)
		return d.joined(c, n)
	})
}

// DrainNode implements api.Backend.
func (d *Daemon) DrainNode(ctx context.Context, name string, drained bool) (client.Node, error) {
	return d.changed(ctx, name, func(c *core) error { return c.mark(name, &drained, nil) })
}

// LeaveNode implements api.Backend.
func (d *Daemon) LeaveNode(ctx context.Context, name string) error {
	if n, err := d.Node(ctx, name); err != nil || d.own(n.Spec.Cluster) {
		if err == nil {
			err = &poise.Error{
				Kind: poise.Conflict, Op: fmt.Sprintf("node %q", name),
				Detail: fmt.Sprintf("it is this machine, which is there as long as the daemon runs, expected another node; to keep new jobs off it: poise node drain %s", name),
			}
		}
		return err
	}
	err := d.durably(ctx, func(c *core) error {
		if err := c.leave(name); err != nil {
			return err
		}
		c.publish()
		return nil
	})
	if err == nil {
		d.follows.mu.Lock()
		defer d.follows.mu.Unlock()
		delete(d.follows.heard, name)
	}
	return err
}

// Heartbeat implements api.Backend.
func (d *Daemon) Heartbeat(ctx context.Context, name string, incarnation uint64) (client.Node, error) {
	n, err := d.Node(ctx, name)
	if err != nil {
		return n, err
	}
	if n.Incarnation != incarnation {
		return n, &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("node %q", name), Detail: fmt.Sprintf("incarnation: %d, expected %d: it has joined anew", incarnation, n.Incarnation)}
	}
	d.hear(name)
	if n.State != client.NodeNotReady {
		return d.Node(ctx, name)
	}
	ready := false
	return d.changed(ctx, name, func(c *core) error { return c.mark(name, nil, &ready) })
}
