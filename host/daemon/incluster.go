package daemon

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/poise"
)

// joinInCluster has the cluster of Kubernetes join that the daemon runs in, where
// the configuration says so. One that has joined before, by the configuration or
// by a command, keeps its history, and its nodes are those that the configuration
// says now.
func (d *Daemon) joinInCluster(ctx context.Context, c *config.Config) error {
	name := c.Cluster.InCluster
	if name == "" {
		return nil
	}
	spec := client.Kubernetes{NodeSelector: c.Cluster.InClusterNodes}
	if had := d.kubes.all[name]; had != nil && had.state.Kubernetes == spec {
		return nil
	}
	if err := clusterName(name, c.Cluster.Name); err != nil {
		return err
	}
	if err := d.mayJoinInCluster(ctx, name); err != nil {
		return err
	}
	k, err := d.openKube(name, spec)
	if err != nil {
		return err
	}
	if err := d.twin(ctx, fmt.Sprintf("cluster.in_cluster: %q", name), k); err != nil {
		return err
	}
	if err := d.putKube(ctx, name, spec); err != nil {
		return err
	}
	d.kubes.all[name] = k
	return nil
}

// mayJoinInCluster refuses a name that is another cluster's, and a second name for
// the cluster that the daemon runs in: each of its pods would be two jobs.
func (d *Daemon) mayJoinInCluster(ctx context.Context, name string) error {
	refuse := func(why string, of ...any) error {
		return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("cluster.in_cluster: %q", name), Detail: fmt.Sprintf(why, of...)}
	}
	for other, k := range d.kubes.all {
		switch outside := k.state.Kubeconfig != ""; {
		case other == name && outside:
			return refuse("a cluster of that name has joined by a kubeconfig, expected it to leave first")
		case other != name && !outside:
			return refuse("the cluster that the daemon runs in has joined as %q, expected that name, or it to leave first", other)
		}
	}
	follows, err := d.store.Follows(ctx)
	if err != nil {
		return err
	}
	for _, f := range follows {
		if f.Cluster == name {
			return refuse("a cluster of that name has joined by a file, expected it to leave first")
		}
	}
	return nil
}
