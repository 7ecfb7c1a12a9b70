package kubelet

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// admit says how a pod ends that the node has no room for beside those that it
// has let in, with the reason that a kubelet gives; ok means that there is room.
// Only amounts and the number of pods are looked at.
func admit(pod *v1.Pod, others []*v1.Pod, allocatable v1.ResourceList) (e ending, ok bool) {
	used := v1.ResourceList{}
	for _, other := range others {
		add(used, requests(other))
	}
	want := requests(pod)
	names := make([]v1.ResourceName, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		amount, have := want[name], allocatable[name]
		if amount.IsZero() {
			continue
		}
		left := have.DeepCopy()
		left.Sub(used[name])
		if amount.Cmp(left) > 0 {
			return ending{
				never: true, reason: "OutOf" + string(name),
				message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %s, capacity: %s, left: %s", name, amount.String(), have.String(), left.String()),
			}, false
		}
	}
	return ending{}, true
}

// requests is what a pod takes of a node, itself counted.
func requests(pod *v1.Pod) v1.ResourceList {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{})
	add(list, v1.ResourceList{v1.ResourcePods: *quantity.NewQuantity(1, quantity.DecimalSI)})
	return list
}

func add(to, more v1.ResourceList) {
	for name, amount := range more {
		sum := to[name]
		sum.Add(amount)
		to[name] = sum
	}
}
