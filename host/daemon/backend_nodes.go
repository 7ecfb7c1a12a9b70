package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

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

// joined joins one node and looks whether the classes still fit.
func (d *Daemon) joined(c *core, n poise.Node) error {
	if err := c.join(n); err != nil {
		return err
	}
	return c.classify(modelSettings(&d.options.Config.Current().Config), false)
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

// Clusters implements api.Backend.
func (d *Daemon) Clusters(context.Context) ([]client.Cluster, error) {
	p := d.board.current.Load()
	byName := map[string]*client.Cluster{}
	for _, row := range p.rowOf {
		name := p.snap.Cluster(row)
		if byName[name] == nil {
			byName[name] = &client.Cluster{Name: name}
		}
		byName[name].Nodes++
		if !p.snap.NotReady(row) {
			byName[name].Ready++
		}
	}
	d.follows.mu.Lock()
	for name, f := range d.follows.files {
		if byName[name] == nil {
			byName[name] = &client.Cluster{Name: name}
		}
		byName[name].Follow = f.path
	}
	d.follows.mu.Unlock()
	all := make([]client.Cluster, 0, len(byName))
	for _, c := range byName {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b client.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// JoinCluster implements api.Backend. The tasks of its nodes run in the sim
// engine: an inventory is a fleet that is not real.
func (d *Daemon) JoinCluster(ctx context.Context, name string, specs []client.NodeSpec, follow string) (client.Cluster, error) {
	config := &d.options.Config.Current().Config
	if err := clusterName(name, config.Cluster.Name); err != nil {
		return client.Cluster{}, err
	}
	nodes := make([]poise.Node, len(specs))
	for i := range specs {
		n, err := api.ParseNode(specs[i])
		if err != nil {
			return client.Cluster{}, err
		}
		nodes[i] = n
	}
	if follow != "" {
		read, err := manifest.ReadNodes(follow)
		if err != nil {
			return client.Cluster{}, err
		}
		nodes = append(nodes, read...)
	}
	err := d.durably(ctx, func(c *core) error {
		if err := c.joinAll(name, nodes); err != nil {
			return err
		}
		if err := c.classify(modelSettings(config), false); err != nil {
			return err
		}
		c.publish()
		return nil
	})
	if err != nil {
		return client.Cluster{}, err
	}
	if follow != "" {
		d.follows.mu.Lock()
		d.follows.files[name] = followed{path: follow}
		d.follows.mu.Unlock()
	}
	return d.cluster(ctx, name)
}

func (d *Daemon) cluster(ctx context.Context, name string) (client.Cluster, error) {
	all, err := d.Clusters(ctx)
	if err != nil {
		return client.Cluster{}, err
	}
	i := slices.IndexFunc(all, func(c client.Cluster) bool { return c.Name == name })
	if i < 0 {
		return client.Cluster{}, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("cluster %q", name), Detail: "no such cluster"}
	}
	return all[i], nil
}

// LeaveCluster implements api.Backend.
func (d *Daemon) LeaveCluster(ctx context.Context, name string) error {
	if _, err := d.cluster(ctx, name); err != nil {
		return err
	}
	if name == d.options.Config.Current().Config.Cluster.Name && d.local != nil {
		return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("cluster %q", name), Detail: "it is this machine, expected another cluster"}
	}
	d.follows.mu.Lock()
	f, followed := d.follows.files[name]
	delete(d.follows.files, name)
	d.follows.mu.Unlock()
	err := d.durably(ctx, func(c *core) error {
		if err := c.joinAll(name, nil); err != nil {
			return err
		}
		c.publish()
		return nil
	})
	if err != nil && followed {
		d.follows.mu.Lock()
		defer d.follows.mu.Unlock()
		d.follows.files[name] = f
	}
	return err
}

// Classes implements api.Backend.
func (d *Daemon) Classes(context.Context) ([]client.Class, error) {
	p := d.board.current.Load()
	all := []client.Class{}
	if p.classes == nil {
		return all, nil
	}
	members := map[string]int{}
	for _, row := range p.rowOf {
		if name, ok := model.ClassOf(p.snap.Labels(row)); ok {
			members[name]++
		}
	}
	for i := range p.classes.Classes {
		all = append(all, class(&p.classes.Classes[i], members[p.classes.Classes[i].Name], p.classes.Build))
	}
	return all, nil
}

// RebuildClasses implements api.Backend.
func (d *Daemon) RebuildClasses(ctx context.Context) ([]client.Class, error) {
	err := d.durably(ctx, func(c *core) error {
		if err := c.classify(modelSettings(&d.options.Config.Current().Config), true); err != nil {
			return err
		}
		c.publish()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.Classes(ctx)
}

// Assignments implements api.Backend.
func (d *Daemon) Assignments(_ context.Context, node string) ([]client.Assignment, error) {
	if _, err := d.board.current.Load().row(node); err != nil {
		return nil, err
	}
	all := []client.Assignment{}
	for _, a := range d.outside.assignments(node) {
		b := &a.binding
		w := client.Assignment{
			Placement: b.Placement, Job: string(b.Job), Name: b.Name, Tenant: string(b.Tenant), Node: b.Node, Devices: b.Devices,
			State: client.Starting, Request: client.Amounts(b.Amounts), Command: b.Command, Env: b.Env, Dir: b.Dir, Stop: a.stop,
		}
		if b.RunTime > 0 {
			w.RunTime = (time.Duration(b.RunTime) * time.Millisecond).String()
		}
		if s, ok := d.outside.board.Get(b.Placement); ok && s.State == engine.Running {
			w.State = client.Running
		}
		all = append(all, w)
	}
	return all, nil
}

// Report implements api.Backend.
func (d *Daemon) Report(_ context.Context, placement string, r client.TaskReport) error {
	s := engine.Status{
		Placement: placement, ExitCode: r.ExitCode, Signal: r.Signal, Detail: r.Detail,
		Started: client.Moment(r.Started), Ended: client.Moment(r.Ended),
	}
	switch r.State {
	case client.Running:
		s.State = engine.Running
	case client.Succeeded:
		s.State = engine.Succeeded
	case client.Failed:
		s.State = engine.Failed
	case client.Lost:
		s.State = engine.Lost
	default:
		return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("report on %q", placement), Detail: fmt.Sprintf("state: %q, expected running, succeeded, failed or lost", r.State)}
	}
	if s.Started == 0 {
		s.Started = now()
	}
	if s.State.Ended() && s.Ended == 0 {
		s.Ended = now()
	}
	return d.outside.report(s)
}
