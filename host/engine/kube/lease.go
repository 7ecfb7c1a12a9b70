package kube

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
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
