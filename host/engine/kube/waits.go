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

// Waits says on a pod that waits why it does: its condition PodScheduled is false
// and Unschedulable, which cluster autoscalers go by. It is written once for each
// reason; a pod that does not wait any more, or not yet, is left alone.
func (c *Cluster) Waits(ctx context.Context, job poise.JobID, reason string) error {
	op := fmt.Sprintf("say why %q waits", job)
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
	if _, waits := v.told.(PodWaits); !waits || v.placement != "" || had == reason {
		c.mu.Unlock()
		return nil
	}
	v.waiting = reason
	c.mu.Unlock()

	patch, err := unschedulable(pod, reason, c.now())
	if err != nil || patch == nil {
		return err
	}
	err = c.client.patchStatus(ctx, pod, patch)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another pod has its name now
	}
	c.mu.Lock()
	if v.waiting == reason {
		v.waiting = had
	}
	c.mu.Unlock()
	return failed(op, err)
}

// unschedulable gives the patch of a pod's condition, nil where it says so already.
func unschedulable(pod *v1.Pod, reason string, now poise.Time) ([]byte, error) {
	condition := map[string]string{
		"type": string(v1.PodScheduled), "status": string(v1.ConditionFalse), "reason": v1.PodReasonUnschedulable, "message": reason,
	}
	since := true
	for i := range pod.Status.Conditions {
		if has := &pod.Status.Conditions[i]; has.Type == v1.PodScheduled && has.Status == v1.ConditionFalse {
			if has.Reason == v1.PodReasonUnschedulable && has.Message == reason {
				return nil, nil
			}
			since = false
		}
	}
	if since {
		condition["lastTransitionTime"] = time.UnixMilli(int64(now)).UTC().Format(time.RFC3339)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	})
}
