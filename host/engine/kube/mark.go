package kube

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// leaderLabel is what a Service finds the pod of the one who leads by.
const leaderLabel = mark + "leader"

// Mark takes the label that a Service finds the leader by from other pods, and gives it
// to the one that this process runs in. Outside a cluster it does nothing.
func (h *Home) Mark(ctx context.Context) error {
	if h.pod.name == "" {
		return nil
	}
	if err := h.Leading(); err != nil {
		return err
	}
	op := fmt.Sprintf("mark pod %q as the leader", h.pod.name)
	var marked v1.PodList
	o := metav1.ListOptions{LabelSelector: leaderLabel}
	listing, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := h.client.rest.Get().Namespace(h.pod.namespace).Resource("pods").VersionedParams(&o, h.client.parameters).Do(listing).Into(&marked); err != nil {
		return failed(op, err)
	}
	for i := range marked.Items {
		if name := marked.Items[i].Name; name != h.pod.name {
			if err := h.label(ctx, name, "null"); err != nil && !apierrors.IsNotFound(err) {
				return failed(op, err)
			}
		}
	}
	err := h.label(ctx, h.pod.name, `"true"`)
	if apierrors.IsNotFound(err) {
		return &poise.Error{Kind: poise.NotFound, Op: op, Detail: "no such pod, expected the name of this replica to be that of its pod", Err: err}
	}
	if err != nil {
		return failed(op, err)
	}
	return nil
}

// label gives a pod the leader's label, or takes it away.
func (h *Home) label(ctx context.Context, pod, value string) error {
	ctx, cancel := h.client.write(ctx)
	defer cancel()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, leaderLabel, value)
	return h.client.rest.Patch(types.MergePatchType).Namespace(h.pod.namespace).Resource("pods").Name(pod).Body([]byte(patch)).Do(ctx).Error()
}
