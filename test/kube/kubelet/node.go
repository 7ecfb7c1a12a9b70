package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// leaseSeconds is how long a heartbeat counts, as with a real kubelet.
const leaseSeconds = 40

// NewNode is a node with room for 110 pods beside the amounts, in the words of
// Kubernetes.
func NewNode(name string, amounts v1.ResourceList, labels map[string]string) *v1.Node {
	capacity := v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}
	add(capacity, amounts)
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: v1.NodeStatus{Capacity: capacity}}
}

// complete adds to a node what its kubelet says of it.
func complete(n *v1.Node, port int32) *v1.Node {
	n = n.DeepCopy()
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[v1.LabelHostname] = n.Name
	s := &n.Status
	if s.Allocatable == nil {
		s.Allocatable = s.Capacity
	}
	s.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}, {Type: v1.NodeHostName, Address: n.Name}}
	s.DaemonEndpoints.KubeletEndpoint.Port = port
	s.Conditions = []v1.NodeCondition{readyCondition(v1.ConditionTrue)}
	return n
}

func readyCondition(ready v1.ConditionStatus) v1.NodeCondition {
	now := metav1.Now()
	c := v1.NodeCondition{Type: v1.NodeReady, Status: ready, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}
	if ready == v1.ConditionUnknown {
		c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	return c
}

// register makes the node, or gives the one that is there this status.
func (k *Kubelet) register(ctx context.Context, n *v1.Node) error {
	nodes := k.client.CoreV1().Nodes()
	_, err := nodes.Create(ctx, n, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": n.Status})
	if err != nil {
		return fmt.Errorf("encode node %q: %w", n.Name, err)
	}
	_, err = nodes.Patch(ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// beat renews the leases of the nodes that are up.
func (k *Kubelet) beat(ctx context.Context, every time.Duration) {
	for {
		for _, name := range k.up() {
			// One that fails is made good by the next.
			_ = k.renew(ctx, name)
		}
		if !sleep(ctx, every) {
			return
		}
	}
}

func (k *Kubelet) renew(ctx context.Context, name string) error {
	leases := k.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	spec := coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: new(int32(leaseSeconds)), RenewTime: new(metav1.NowMicro())}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return fmt.Errorf("encode the lease of node %q: %w", name, err)
	}
	_, err = leases.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	}
	return err
}

func (k *Kubelet) up() (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, n := range k.nodes {
		if !n.down {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Down lets a node fall silent and marks it as a controller-manager would after
// a while: not known to be ready, and unreachable. What ran there neither goes
// on nor ends.
func (k *Kubelet) Down(ctx context.Context, name string) error {
	k.mu.Lock()
	n := k.nodes[name]
	n.down = true
	runs := n.pods
	n.pods = map[types.UID]*run{}
	k.mu.Unlock()
	for _, r := range runs {
		r.cancel()
		<-r.gone
	}
	return k.mark(ctx, name, v1.ConditionUnknown, []v1.Taint{
		{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute},
	})
}

// Up brings a node back, with the pods that are still bound to it.
func (k *Kubelet) Up(ctx context.Context, name string) error {
	if err := k.mark(ctx, name, v1.ConditionTrue, nil); err != nil {
		return err
	}
	k.mu.Lock()
	k.nodes[name].down = false
	k.mu.Unlock()
	for _, obj := range k.seen.GetStore().List() {
		k.see(obj.(*v1.Pod))
	}
	return nil
}

// mark says how ready a node is, and by what taints for being unreachable.
func (k *Kubelet) mark(ctx context.Context, name string, ready v1.ConditionStatus, taints []v1.Taint) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []v1.NodeCondition{readyCondition(ready)}}})
	if err != nil {
		return fmt.Errorf("encode the status of node %q: %w", name, err)
	}
	nodes := k.client.CoreV1().Nodes()
	if _, err := nodes.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("mark node %q: %w", name, err)
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("mark node %q: %w", name, err)
		}
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnreachable })
		n.Spec.Taints = append(n.Spec.Taints, taints...)
		_, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
		return err
	})
}
