package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// wait is what a pod that waits says about it.
type wait struct{ reason, node string }

// Waits says on a pod that waits why it does: its condition PodScheduled is false
// and Unschedulable, which cluster autoscalers go by. A node, "" = none, is the one on
// which others make room for it: the pod's nominated node. Both are written together,
// once for each change, and each time counts for its event; a pod that does not wait any
// more, or not yet, is left alone.
func (c *Cluster) Waits(ctx context.Context, job poise.JobID, reason, node string) error {
	op := fmt.Sprintf("say why %q waits", job)
	now := wait{reason: reason}
	now.node, _ = c.nodeOf(node)
	c.mu.Lock()
	v, err := c.find(op, types.UID(job))
	if err != nil {
		c.mu.Unlock()
		if poise.KindOf(err) == poise.NotFound {
			return nil
		}
		return err
	}
	pod, had := v.pod, v.waiting
	if _, waits := v.told.(PodWaits); !waits || v.placement != "" {
		c.mu.Unlock()
		return nil
	}
	v.waiting = now
	c.mu.Unlock()
	if had == now || had.reason != now.reason {
		c.events.add(pod, happened{kind: v1.EventTypeWarning, reason: failedScheduling, action: "Scheduling", note: reason}, c.now())
	}
	if had == now {
		return nil
	}

	patch, err := unschedulable(pod, had, now, c.now())
	if err != nil || patch == nil {
		return err
	}
	err = c.client.patchStatus(ctx, pod, patch)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another pod has its name now
	}
	c.mu.Lock()
	if v.waiting == now {
		v.waiting = had
	}
	c.mu.Unlock()
	return failed(op, err)
}

// unschedulable gives the patch of a pod's status, nil where it says so already. What
// was written last may not be seen on the pod yet.
func unschedulable(pod *v1.Pod, had, is wait, now poise.Time) ([]byte, error) {
	condition := map[string]string{
		"type": string(v1.PodScheduled), "status": string(v1.ConditionFalse), "reason": v1.PodReasonUnschedulable, "message": is.reason,
	}
	if is.reason == Cancelled {
		condition["reason"] = cancelledReason
	}
	since, says := true, wait{node: pod.Status.NominatedNodeName}
	for i := range pod.Status.Conditions {
		if has := &pod.Status.Conditions[i]; has.Type == v1.PodScheduled && has.Status == v1.ConditionFalse {
			if since = false; has.Reason == condition["reason"] {
				says.reason = has.Message
			}
		}
	}
	if says == is && had == (wait{}) {
		return nil, nil
	}
	if since {
		condition["lastTransitionTime"] = time.UnixMilli(int64(now)).UTC().Format(time.RFC3339)
	}
	status := map[string]any{"conditions": []any{condition}}
	switch {
	case is.node != "":
		status["nominatedNodeName"] = is.node
	case says.node != "" || had.node != "":
		status["nominatedNodeName"] = nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
}
