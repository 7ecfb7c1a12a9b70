package daemon

import (
	"context"
	"fmt"
	"path/filepath"
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
	d.kubes.mu.Lock()
	for name, k := range d.kubes.all {
		if byName[name] == nil {
			byName[name] = &client.Cluster{Name: name}
		}
		byName[name].Kubernetes = k.view()
	}
	d.kubes.mu.Unlock()
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
	if err := clusterName(name, d.options.Config.Current().Config.Cluster.Name); err != nil {
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
	join := func() error {
		return d.durably(ctx, func(c *core) error {
			if err := d.joinedAll(c, name, nodes); err != nil {
				return err
			}
			c.publish()
			return nil
		})
	}
	if follow == "" {
		if err := d.unfollow(ctx, name, join); err != nil {
			return client.Cluster{}, err
		}
		return d.cluster(ctx, name)
	}
	if !filepath.IsAbs(follow) {
		return client.Cluster{}, &poise.Error{
			Kind: poise.Invalid, Op: fmt.Sprintf("join cluster %q", name),
			Detail: fmt.Sprintf("follow: %q, expected the absolute path of a file on the daemon's machine", follow),
		}
	}
	var err error
	if nodes, err = manifest.ReadNodes(follow); err != nil {
		return client.Cluster{}, err
	}
	if err := join(); err != nil {
		return client.Cluster{}, err
	}
	if err := d.follow(ctx, name, follow); err != nil {
		return client.Cluster{}, err
	}
	return d.cluster(ctx, name)
}

// joinedAll makes the nodes of a cluster those of the list and looks whether the
// classes still fit.
func (d *Daemon) joinedAll(c *core, cluster string, nodes []poise.Node) error {
	if err := c.joinAll(cluster, nodes); err != nil {
		return err
	}
	return c.classify(modelSettings(&d.options.Config.Current().Config), false)
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
	if d.own(name) {
		return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("cluster %q", name), Detail: "it is this machine, expected another cluster"}
	}
	if err := d.leaveKube(ctx, name); err != nil {
		return err
	}
	return d.unfollow(ctx, name, func() error {
		return d.durably(ctx, func(c *core) error {
			if err := c.joinAll(name, nil); err != nil {
				return err
			}
			c.dropPods(name)
			if err := c.adoptHere(name, nil); err != nil {
				return err
			}
			if err := c.spacesOf(name, nil); err != nil {
				return err
			}
			c.publish()
			return nil
		})
	})
}
