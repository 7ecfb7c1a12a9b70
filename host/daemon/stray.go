package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// lookup is the history as the loop looks up in it what it has let go.
type lookup interface {
	Job(ctx context.Context, id string) (store.JobRow, error)
	Placements(ctx context.Context, job string) ([]store.PlacementRow, error)
}

// stray says whether a pod that is on a node by a placement that is over is one too
// many: it was made for a job that has another placement or none now, or for one that
// has ended and never ran there as far as the history knows; or it was cancelled. Of a job that the history
// does not know, and of one that ran there before its cluster left, the pod goes on.
func (c *core) stray(p *kube.PodBound) (bool, error) {
	switch {
	case p.Of == "" && c.jobs[p.Job.ID] == nil:
		return c.wasCancelled(p.Job.ID)
	case p.Of == "" || c.jobs[p.Of] != nil:
		return p.Of != "", nil
	}
	places, err := c.lookup.Placements(context.Background(), string(p.Of))
	if err != nil {
		return false, err
	}
	for i := range places {
		if places[i].ID == p.Placement {
			return places[i].Started == 0, nil
		}
	}
	return false, nil
}

// evictStray has a stray ended, tried again until its cluster takes it or has left.
func (c *core) evictStray(k *kubeCluster, placement string, attempt int) {
	c.evict(k, placement, grace, func(err error) {
		if err == nil || poise.KindOf(err) == poise.NotFound {
			return
		}
		c.log.Warn("evict a pod of a placement that is over", "placement", placement, "error", err)
		c.after(c.retryIn(attempt), func() {
			c.tell(func(c *core) {
				if c.engines(k.name) == binder(k) && c.placed(placement) == nil {
					c.evictStray(k, placement, attempt+1)
				}
			})
		})
	})
}
