package daemon

import (
	"context"
	"time"
)

// podRetryMax is the longest pause before a cluster of Kubernetes is asked again to do
// what it did not: an outage should not outlast itself.
const podRetryMax = 10 * time.Second

// retryOf gives the pause before an engine is asked again.
func retryOf(e binder, pause time.Duration) time.Duration {
	if _, pods := e.(*kubeCluster); pods {
		return min(pause, podRetryMax)
	}
	return pause
}

// unplaced says whether a job whose node has left was not bound yet, or its pod not
// made, as far as its cluster has told. Where that comes late all the same, on a node
// that is gone, it is ended, see podBound.
func (c *core) unplaced(live *liveJob) bool {
	k, pods := live.engine.(*kubeCluster)
	return pods && c.engines(k.name) == binder(k) && k.Unplaced(live.spec.Job.ID, live.place.ID, live.spec.Image != "")
}

// disown has an engine not run a task that it could not start: NotFound says that it
// does not. A pod that is there after all is left to run.
func disown(e binder, placement string) error {
	if k, pods := e.(*kubeCluster); pods {
		return k.Placed(context.Background(), placement)
	}
	return e.Evict(context.Background(), placement, 0)
}
