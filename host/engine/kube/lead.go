package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/poise-sched/poise/host/poise"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The Lease of a home. Nothing here trusts a time that another machine wrote: who
// waits measures how long the Lease has not changed, and who leads measures from
// when it sent what was taken. So the one who leads gives up after 2/3 of the lease
// at a time that cannot be later than 2/3 of it after the others saw the Lease
// change, and these wait for all of it.
const (
	leaseLabel  = mark + "lease"   // home or fence
	processNote = mark + "process" // that holds it; a name may be that of two
)

func (h *Home) deadline() time.Duration { return h.lease * 2 / 3 }
func (h *Home) retry() time.Duration    { return h.lease * 2 / 15 }

func unavailable(op, detail string, of ...any) error {
	return &poise.Error{Kind: poise.Unavailable, Op: op, Detail: fmt.Sprintf(detail, of...)}
}

// Lead waits until this replica leads, and gives a context of ctx that ends, with a
// cause, once it does not any more: the process must end then, and cannot lead
// again. The lead is renewed until Resign, also when ctx has ended.
func (h *Home) Lead(ctx context.Context) (context.Context, error) {
	h.mu.Lock()
	had := h.term
	h.mu.Unlock()
	if had != 0 {
		return nil, &poise.Error{Kind: poise.Conflict, Op: "lead", Detail: fmt.Sprintf("this process has led already, in term %d", had)}
	}
	var last sighting
	said := ""
	for {
		err := h.tryToLead(ctx, &last)
		h.mu.Lock()
		led, leader := h.held != nil, h.leader
		h.mu.Unlock()
		now := "another replica leads: " + leader
		if err != nil {
			now = err.Error()
		}
		switch {
		case led:
			lead, end := context.WithCancelCause(ctx)
			h.mu.Lock()
			renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
			h.end, h.stop, h.done = end, stop, make(chan struct{})
			h.mu.Unlock()
			go h.hold(renewing)
			return lead, nil
		case now != said:
			said = now
			h.log.Info("this replica does not lead", "identity", h.identity, "reason", now)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(h.retry()):
		}
	}
}

// sighting is a Lease that somebody else holds, and when it was first seen so.
type sighting struct {
	version string
	at      time.Duration
}

// tryToLead has this replica lead if nobody else does.
func (h *Home) tryToLead(ctx context.Context, last *sighting) error {
	ctx, cancel := context.WithTimeout(ctx, h.deadline())
	defer cancel()
	sent := h.clock()
	l, err := h.election.getLease(ctx, h.namespace)
	if apierrors.IsNotFound(err) {
		first := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: leaseName}}
		made, err := h.election.createLease(ctx, h.holding(first, 1))
		return h.taken(made, sent, err)
	}
	if err != nil {
		return failed("read the lease", err)
	}
	if h.holds(l) { // by a write that nobody heard the answer to
		sent = h.clock()
		now, err := h.election.updateLease(ctx, h.holding(l, transitions(l)))
		return h.taken(now, sent, err)
	}
	holder := holderOf(l)
	h.mu.Lock()
	h.leader = holder
	h.mu.Unlock()
	if version := string(l.UID) + l.ResourceVersion; version != last.version {
		*last = sighting{version: version, at: h.clock()}
	}
	if holder != "" && h.clock()-last.at < h.lastsFor(l) {
		return nil
	}
	sent = h.clock()
	now, err := h.election.updateLease(ctx, h.holding(l, transitions(l)+1))
	return h.taken(now, sent, err)
}

// taken notes a lead that was asked for at some time. That another one was faster is
// no error.
func (h *Home) taken(l *coordinationv1.Lease, sent time.Duration, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return failed("take the lease", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held, h.sent, h.term, h.uid, h.leader = l, sent, transitions(l), string(l.UID), h.identity
	return nil
}

// hold renews the lead until it is over.
func (h *Home) hold(ctx context.Context) {
	defer close(h.done)
	failing := "no answer"
	for {
		pause := time.NewTimer(max(0, min(h.retry(), h.left())))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		if h.left() <= 0 {
			h.lose(unavailable("lead", "not renewed for %v: %s", h.deadline(), failing))
			return
		}
		lost, err := h.renew(ctx)
		if lost != nil {
			h.lose(lost)
			return
		}
		if err != nil && ctx.Err() == nil {
			failing = err.Error()
			h.log.Warn("the lead is not renewed", "error", err)
		}
	}
}

// renew renews the lead once. The first error says that it is lost, the second that
// it may be tried again.
func (h *Home) renew(ctx context.Context) (lost, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(h.deadline()/2, h.left()))
	defer cancel()
	h.mu.Lock()
	l := h.held
	h.mu.Unlock()
	for l != nil {
		sent := h.clock()
		now, err := h.election.updateLease(ctx, h.holding(l, h.term))
		if err == nil {
			h.mu.Lock()
			if h.held != nil {
				h.held, h.sent = now, sent
			}
			h.mu.Unlock()
			return nil, nil
		}
		if apierrors.IsConflict(err) { // somebody's write, or one of before that nobody heard the answer to
			l, err = h.election.getLease(ctx, h.namespace)
		}
		switch {
		case apierrors.IsNotFound(err):
			return unavailable("lead", "the Lease was deleted"), nil
		case err != nil:
			return nil, failed("renew the lease", err)
		case !h.holds(l) || transitions(l) != h.term:
			h.mu.Lock()
			h.leader = holderOf(l)
			h.mu.Unlock()
			return unavailable("lead", "replica %q leads in term %d", holderOf(l), transitions(l)), nil
		}
	}
	return nil, nil // resigned
}

// lose ends the lead.
func (h *Home) lose(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		return
	}
	h.held, h.over = nil, why
	if h.leader == h.identity {
		h.leader = ""
	}
	h.end(why)
}

// Resign gives up the lead, so that the next one need not wait until it is over. What
// this replica does not lead, it cannot give up: that is no error.
func (h *Home) Resign(ctx context.Context) error {
	h.mu.Lock()
	l, done := h.held, h.done
	h.mu.Unlock()
	if l == nil || done == nil {
		return nil
	}
	h.lose(unavailable("lead", "resigned"))
	h.stop()
	<-done
	for {
		free := l.DeepCopy()
		free.Spec.HolderIdentity, free.Spec.LeaseDurationSeconds = new(string), new(int32(1))
		delete(free.Annotations, processNote)
		_, err := h.election.updateLease(ctx, free)
		if apierrors.IsConflict(err) { // a renewal of before
			l, err = h.election.getLease(ctx, h.namespace)
			if err == nil && h.holds(l) {
				continue
			}
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return failed("resign", err)
		}
		return nil
	}
}

// Term gives the number of the lead that this process has, or has had: each lead of
// any replica has one of its own, larger than all before. 0 = it has not led.
func (h *Home) Term() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term
}

// Leading gives nil while a write may still be sent, else an Unavailable error. It
// goes by this machine's clock since the last renewal was sent, time in which the
// machine was suspended included.
func (h *Home) Leading() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over != nil:
		return h.over
	case h.held == nil:
		return unavailable("lead", "this replica stands by")
	case h.leftLocked() <= 0:
		return unavailable("lead", "not renewed for %v", h.deadline())
	}
	return nil
}

// left gives for how long a write may still be sent.
func (h *Home) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leftLocked()
}

func (h *Home) leftLocked() time.Duration {
	if h.held == nil {
		return 0
	}
	return h.deadline() - (h.clock() - h.sent)
}
