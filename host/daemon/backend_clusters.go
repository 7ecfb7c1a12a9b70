package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
)

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
