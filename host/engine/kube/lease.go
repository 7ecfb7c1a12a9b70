package kube

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseName is the name of the Lease that a lead is held by, and of that which
// fences a cluster.
const leaseName = "poise"

func (c *client) getLease(ctx context.Context, namespace string) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var l coordinationv1.Lease
	return &l, c.leases.Get().Namespace(namespace).Resource("leases").Name(leaseName).Do(ctx).Into(&l)
}

// createLease and updateLease give the Lease as it is then. An update has the
// resource version of l as a precondition.
func (c *client) createLease(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := c.write(ctx)
	defer cancel()
	var made coordinationv1.Lease
	return &made, c.leases.Post().Namespace(l.Namespace).Resource("leases").Body(l).Do(ctx).Into(&made)
}

func (c *client) updateLease(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := c.write(ctx)
	defer cancel()
	var now coordinationv1.Lease
	return &now, c.leases.Put().Namespace(l.Namespace).Resource("leases").Name(l.Name).Body(l).Do(ctx).Into(&now)
}

// holding gives a Lease as this replica holds it.
func (h *Home) holding(l *coordinationv1.Lease, term int64) *coordinationv1.Lease {
	l = l.DeepCopy()
	metav1.SetMetaDataLabel(&l.ObjectMeta, leaseLabel, "home")
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, processNote, h.process)
	now := metav1.NewMicroTime(h.wall()) // for whoever reads it; nothing goes by it
	if transitions(l) != term || l.Spec.AcquireTime == nil {
		l.Spec.AcquireTime = &now
	}
	l.Spec.RenewTime, l.Spec.HolderIdentity = &now, &h.identity
	l.Spec.LeaseTransitions = new(int32(term))
	l.Spec.LeaseDurationSeconds = new(int32((h.lease + time.Second - 1) / time.Second))
	return l
}

// holds says whether it is this process that holds a Lease.
func (h *Home) holds(l *coordinationv1.Lease) bool {
	return holderOf(l) == h.identity && l.Annotations[processNote] == h.process
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func transitions(l *coordinationv1.Lease) int64 {
	if l.Spec.LeaseTransitions == nil {
		return 0
	}
	return int64(*l.Spec.LeaseTransitions)
}

// lastsFor gives how long a Lease is held without a change.
func (h *Home) lastsFor(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		return max(h.lease, time.Duration(*s)*time.Second)
	}
	return h.lease
}
