package kube

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Guard says whether this replica may still write.
type Guard interface {
	// Leading gives nil while a write may be sent.
	Leading() error
	// Term is the number of the lead, larger than that of each lead before.
	Term() int64
}

// guarded lets nothing through that changes something, unless this replica leads.
// It is the last that looks before a request is sent, also before it is sent anew.
type guarded struct {
	guard Guard
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := g.guard.Leading(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}

// What is under way when a lead ends arrives later. So the next one raises a fence in
// a cluster before it reads it: a Lease with its term, and a policy of the cluster
// refuses what carries a smaller one.
const (
	fenceNamespace = "poise"
	homeNote       = mark + "home" // uid of the Lease that the fence goes by
	termNote       = mark + "term" // of the lead that wrote a binding, a pod or an eviction
)

// fence raises the fence of the cluster to this lead, where it may have one. An error
// says that it must be tried again before the cluster is read.
func (c *Cluster) fence(ctx context.Context) error {
	term, home := c.guard.Term(), ""
	if h, ours := c.guard.(*Home); ours {
		home = h.leaseUID()
	}
	l, err := c.client.getLease(ctx, fenceNamespace)
	switch {
	case apierrors.IsNotFound(err):
		l = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: fenceNamespace, Name: leaseName}}
		metav1.SetMetaDataLabel(&l.ObjectMeta, leaseLabel, "fence")
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, homeNote, home)
		l.Spec.LeaseTransitions = new(int32(term))
		if _, err = c.client.createLease(ctx, l); apierrors.IsNotFound(err) {
			c.unfenced("no namespace " + fenceNamespace)
			return nil
		}
	case err != nil:
	case string(l.UID) == home && transitions(l) == term: // at home the Lease is the fence
	case string(l.UID) != home && (l.Labels[leaseLabel] != "fence" || l.Annotations[homeNote] != home):
		c.unfenced(fmt.Sprintf("Lease %s/%s is another daemon's; expected it to be deleted if that one is no more", fenceNamespace, leaseName))
		return nil
	case transitions(l) > term:
		return unavailable("fence", "term %d of another replica is past the term %d of this one", transitions(l), term)
	case transitions(l) < term:
		l.Spec.LeaseTransitions = new(int32(term))
		_, err = c.client.updateLease(ctx, l)
	}
	if apierrors.IsForbidden(err) {
		c.unfenced(err.Error())
		return nil
	}
	if err != nil {
		return failed("fence", err)
	}
	c.mu.Lock()
	c.term = strconv.FormatInt(term, 10)
	c.mu.Unlock()
	return c.tryFence(ctx, term-1)
}

// tryFence waits until the policy refuses a term, as it sees the Lease a moment after
// it was written. It binds a pod that there is not.
func (c *Cluster) tryFence(ctx context.Context, term int64) error {
	b := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: fenceNamespace, Name: "poise-fence", Annotations: map[string]string{termNote: strconv.FormatInt(term, 10)}},
		Target:     v1.ObjectReference{Kind: "Node", Name: "none"},
	}
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		err := c.client.bind(ctx, b)
		switch {
		case err != nil && strings.Contains(err.Error(), termNote):
			return nil
		case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
			return failed("try the fence", err)
		case pause > time.Second: // a policy is in force a second after it was made
			c.unfenced("no policy of the cluster refuses an old term")
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// unfenced says once that a cluster has no fence.
func (c *Cluster) unfenced(why string) {
	c.mu.Lock()
	said := c.noFence == why
	c.noFence = why
	c.mu.Unlock()
	if !said {
		c.log.Warn("the cluster has no fence: what a replica has sent when it is replaced may still arrive", "reason", why)
	}
}

// stamp adds the term of this lead to the annotations of something that is written.
func (c *Cluster) stamp(notes map[string]string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term != "" {
		notes[termNote] = c.term
	}
	return notes
}
