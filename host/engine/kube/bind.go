package kube

import (
	"context"
	"errors"
	"fmt"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Bind implements engine.Engine: it assigns the pod that the job is to its node, in
// one write that carries the placement and the notes as annotations. The pod's uid
// is a precondition. A pod that is gone is NotFound, one that is placed already,
// is deleted or has gates a Conflict: neither gets better. For a job with an image a
// pod is made.
func (c *Cluster) Bind(ctx context.Context, b engine.Binding) error {
	if err := b.Validate(); err != nil {
		return err
	}
	op := fmt.Sprintf("bind %q", b.Placement)
	node, ours := c.nodeOf(b.Node)
	if !ours {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("node: %q, expected one of cluster %q", b.Node, c.name)}
	}
	if _, known := c.board.Get(b.Placement); known {
		return nil
	}
	if b.Image != "" {
		return c.create(ctx, op, node, &b)
	}
	uid := types.UID(b.Job)
	c.mu.Lock()
	v, err := c.find(op, uid)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	pod, same := v.pod, v.placement == b.Placement
	c.mu.Unlock()
	switch {
	case same:
		return nil
	case pod.Spec.NodeName != "" || terminalOrGone(pod) || Gated(pod):
		return &poise.Error{Kind: poise.Conflict, Op: op, Detail: fmt.Sprintf("pod %s/%s: placed, over, deleted or gated", pod.Namespace, pod.Name)}
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	notes := map[string]string{placementNote: b.Placement}
	for key, value := range b.Notes {
		notes[mark+key] = value
	}
	err = c.client.bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: uid, Annotations: c.stamp(notes)},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	})
	if apierrors.IsConflict(err) {
		// Perhaps a write of before that nobody heard the answer to.
		switch done, look := c.bound(ctx, pod, b.Placement); {
		case look != nil:
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tried[b.Placement] = uid
			return failed(op, look)
		case done:
			err = nil
		}
	}
	if err != nil {
		c.wrote(b.Placement, err)
		err = failed(op, err)
		c.mu.Lock()
		defer c.mu.Unlock()
		if poise.KindOf(err) == poise.Unavailable {
			c.tried[b.Placement] = uid
		} else {
			delete(c.tried, b.Placement)
		}
		return err
	}
	c.confirm(uid, b.Placement)
	return nil
}

// confirm notes a bind that the API server took.
func (c *Cluster) confirm(uid types.UID, placement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tried, placement)
	v := c.world.pods[uid]
	if v != nil && v.placement == placement {
		return // it was seen before the answer was
	}
	c.board.Add(engine.Status{Placement: placement, State: engine.Starting})
	if v == nil {
		c.board.Post(lostStatus(nil, placement, c.now()))
		return
	}
	c.world.placed(v, placement)
}

// bound asks the API server whether a pod is bound by a placement.
func (c *Cluster) bound(ctx context.Context, pod *v1.Pod, placement string) (bool, error) {
	now, err := c.client.pod(ctx, pod.Namespace, pod.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return now.UID == pod.UID && now.Spec.NodeName != "" && now.Annotations[placementNote] == placement, nil
}

// Evict implements engine.Engine by the eviction API, so that a disruption budget
// is heeded: where it forbids the end now, the error is Limit. The grace is in
// whole seconds, one at the least, because with none the API server takes a pod to
// be gone before its node has ended it.
func (c *Cluster) Evict(ctx context.Context, placement string, grace poise.Span) error {
	const verb = "evict"
	op := fmt.Sprintf("%s %q", verb, placement)
	pod, err := c.placedPod(ctx, verb, placement)
	if err != nil {
		return err
	}
	if s, _ := c.board.Get(placement); s.State.Ended() || pod == nil {
		return nil
	}
	seconds := max(int64(grace+999)/1000, 1)
	err = c.client.evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Annotations: c.stamp(map[string]string{})},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &seconds, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another pod has its name now
	}
	if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		return &poise.Error{Kind: poise.Limit, Op: op, Err: err}
	}
	return failed(op, err)
}

// placedPod gives the pod of a placement, nil for one that is over.
func (c *Cluster) placedPod(ctx context.Context, verb, placement string) (*v1.Pod, error) {
	op := fmt.Sprintf("%s %q", verb, placement)
	c.mu.Lock()
	if err := c.ready(op); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	uid, placed := c.world.places[placement]
	at, made := c.made[placement]
	if !placed {
		uid = c.tried[placement]
	}
	v := c.world.pods[uid]
	var pod *v1.Pod
	if v != nil {
		pod = v.pod
	}
	c.mu.Unlock()
	_, known := c.board.Get(placement)
	switch {
	case placed:
		return pod, nil
	case made:
		return c.madePod(ctx, verb, placement, at)
	case known:
		return pod, nil
	case pod == nil:
		return nil, engine.Unknown(verb, placement)
	}
	// A bind without an answer.
	done, err := c.bound(ctx, pod, placement)
	if err != nil {
		return nil, failed(op, err)
	}
	if !done {
		return nil, c.never(verb, placement)
	}
	c.confirm(uid, placement)
	return pod, nil
}

// Forget implements engine.Engine. The pod stays, with its output, until somebody
// deletes it.
func (c *Cluster) Forget(_ context.Context, placement string) error {
	if s, known := c.board.Get(placement); known && !s.State.Ended() {
		return engine.StillRuns(placement)
	}
	c.board.Drop(placement)
	c.mu.Lock()
	delete(c.made, placement)
	delete(c.doubt, placement)
	c.mu.Unlock()
	return nil
}

// failed gives an error of the API server with its kind: what may be tried again is
// Unavailable, a lack of rights too, as an operator can give them.
func failed(op string, err error) error {
	kind := poise.Unavailable
	switch {
	case errors.Is(err, context.Canceled):
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		kind = poise.NotFound
	case apierrors.IsConflict(err):
		kind = poise.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		kind = poise.Invalid
	}
	return &poise.Error{Kind: kind, Op: op, Err: err}
}
