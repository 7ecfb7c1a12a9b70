package daemon

import (
	"fmt"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// externalCluster is the cluster of nodes whose tasks an external executor runs.
const externalCluster = "external"

// own says whether a cluster is this machine alone.
func (d *Daemon) own(cluster string) bool {
	return d.local != nil && cluster == d.options.Config.Current().Config.Cluster.Name
}

// joinAll makes the nodes of a cluster those of the list, or changes nothing.
func (c *core) joinAll(cluster string, nodes []poise.Node) error {
	for i := range nodes {
		n := nodes[i]
		n.Cluster = cluster
		if err := n.Validate(); err != nil {
			return err
		}
		if row, there := c.loop.State().Row(n.Name); there {
			if err := sameCluster(&n, c.loop.State().View().Cluster(row)); err != nil {
				return err
			}
		}
	}
	wanted := map[string]bool{}
	for i := range nodes {
		n := nodes[i]
		n.Cluster = cluster
		wanted[n.Name] = true
		if err := c.join(n); err != nil {
			return err
		}
	}
	for _, n := range c.nodes() {
		if n.Cluster == cluster && !wanted[n.Name] {
			if err := c.leave(n.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// clusterName checks a name that an operator gives.
func clusterName(name string, own string) error {
	if name == "" || strings.ContainsAny(name, " /\t\n") || name == own || name == externalCluster {
		return &poise.Error{
			Kind: poise.Invalid, Op: "join cluster",
			Detail: fmt.Sprintf("name: %q, expected a name without spaces and slashes other than %q and %q", name, own, externalCluster),
		}
	}
	return nil
}
