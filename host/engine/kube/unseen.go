package kube

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// unseenAfter is how long a pod that was made may go unseen before the API server is
// asked about it. Others are seen within a second.
const unseenAfter = 10 * time.Second

// findMade asks about the pods that were made for jobs and that are not seen, until
// ctx ends: one that came and went while nothing was watched is never told of, and
// its placement is lost.
func (c *Cluster) findMade(ctx context.Context) {
	tick := time.NewTicker(unseenAfter)
	defer tick.Stop()
	var before map[string]types.NamespacedName
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := c.unseen()
		for _, placement := range slices.Sorted(maps.Keys(now)) {
			if _, again := before[placement]; !again {
				continue
			}
			if _, err := c.madePod(ctx, "look for the pod of", placement, now[placement]); err != nil && ctx.Err() == nil {
				c.log.Warn("a pod that was made is not seen", "placement", placement, "error", err)
			}
		}
		before = now
	}
}

// unseen gives where the pods are that were made and have not been seen, by
// placement.
func (c *Cluster) unseen() map[string]types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]types.NamespacedName{}
	for placement, at := range c.made {
		_, seen := c.world.places[placement]
		if s, known := c.board.Get(placement); known && !s.State.Ended() && !seen && c.synced {
			all[placement] = at
		}
	}
	return all
}
