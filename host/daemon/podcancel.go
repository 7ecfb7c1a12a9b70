package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// podCancelled takes down that a job that has ended without having run was a pod and
// cancelled: it is not taken in again, and says so.
func (c *core) podCancelled(live *liveJob, reason string) {
	p, id := live.spec.Job.Pod, live.spec.Job.ID
	if p == nil || reason != cancelled {
		return
	}
	c.cancelled[id] = true
	c.tellPod(c.engines(p.Cluster), id, kube.Cancelled, "")
}

// keepsOff says whether a pod was cancelled, also before a restart, and has it say so
// again: a write may have been in vain.
func (c *core) keepsOff(k *kubeCluster, id poise.JobID) (bool, error) {
	if c.jobs[id] != nil {
		return false, nil
	}
	was, err := c.wasCancelled(id)
	if was {
		c.cancelled[id] = true
		c.tellPod(c.engines(k.name), id, kube.Cancelled, "")
	}
	return was, err
}

// wasCancelled looks up whether a job that is not known any more was cancelled.
func (c *core) wasCancelled(id poise.JobID) (bool, error) {
	if c.cancelled[id] {
		return true, nil
	}
	row, err := c.lookup.Job(context.Background(), string(id))
	if poise.KindOf(err) == poise.NotFound {
		return false, nil
	}
	return row.Reason == cancelled && final(row.State), err
}
