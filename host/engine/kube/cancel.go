package kube

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Cancelled is what a pod that waits is made to say, by Waits, once it is not to be
// placed any more. It is not told of from then on, by whomever the cluster is read.
const Cancelled = "cancelled: it is not placed any more, delete it"

// cancelledReason is the reason of its condition: it is not one that autoscalers go by.
const cancelledReason = "Cancelled"

// cancelled says whether a pod says that it is not to be placed any more.
func cancelled(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason == cancelledReason && c.Message == Cancelled
	})
}
