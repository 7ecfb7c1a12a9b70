package daemon

import (
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// spaceOf takes in which namespace of a cluster a tenant's jobs become pods in.
func (c *core) spaceOf(cluster string, s kube.SpaceOf) error {
	return c.event(poise.SpaceSet{Cluster: cluster, Tenant: s.Tenant, Space: s.Space})
}

// spacesOf makes the namespaces that have not the name of their tenant those of the
// list.
func (c *core) spacesOf(cluster string, all []kube.SpaceOf) (failed error) {
	wanted := map[poise.TenantID]string{}
	for _, s := range all {
		wanted[s.Tenant] = s.Space
	}
	for _, had := range c.loop.State().Spaces(cluster) {
		if wanted[had.Tenant] == had.Space {
			delete(wanted, had.Tenant)
		} else if err := c.spaceOf(cluster, kube.SpaceOf{Tenant: had.Tenant}); err != nil {
			failed = err
		}
	}
	for _, s := range all {
		if wanted[s.Tenant] != "" {
			if err := c.spaceOf(cluster, s); err != nil {
				failed = err
			}
		}
	}
	return failed
}
