package state

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// spaceKey names what a namespace is for: the jobs of a tenant in a cluster.
type spaceKey struct {
	cluster string
	tenant  poise.TenantID
}

// setSpace takes down in which namespace the jobs of a tenant become pods from now
// on.
func (s *State) setSpace(b *poise.SpaceSet) error {
	if err := b.Validate(); err != nil {
		return err
	}
	key := spaceKey{b.Cluster, b.Tenant}
	if b.Space == "" {
		delete(s.spaces, key)
	} else {
		s.spaces[key] = b.Space
	}
	return nil
}

// space gives the namespace of a cluster in which a tenant's jobs become pods.
func (s *State) space(cluster string, tenant poise.TenantID) string {
	if space, known := s.spaces[spaceKey{cluster, tenant}]; known {
		return space
	}
	return string(tenant)
}

// Spaces gives what is known of the namespaces of a cluster that have not the name of
// their tenant, by tenant.
func (s *State) Spaces(cluster string) []poise.SpaceSet {
	return slices.DeleteFunc(s.spaceImages(), func(b poise.SpaceSet) bool { return b.Cluster != cluster })
}

// spaceImages gives all of them, by cluster and tenant.
func (s *State) spaceImages() []poise.SpaceSet {
	var all []poise.SpaceSet
	for key, space := range s.spaces {
		all = append(all, poise.SpaceSet{Cluster: key.cluster, Tenant: key.tenant, Space: space})
	}
	slices.SortFunc(all, func(a, b poise.SpaceSet) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Tenant, b.Tenant))
	})
	return all
}
