package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pauses between two tries to read a cluster: the first, and the longest. Those
// of client-go grow to a minute, for which a cluster that is back would not be read.
const (
	againFirst = 250 * time.Millisecond
	againMost  = 5 * time.Second
)

// again asks until there is an answer, and notes whether there is. An error is one
// for the informer, which lists anew.
func (w *follower) again(ctx context.Context, resource string, ask func() error) error {
	for delay := againFirst; ; delay = min(2*delay, againMost) {
		err := w.fence(ctx)
		if err == nil {
			err = ask()
		}
		if ctx.Err() != nil {
			return err
		}
		w.note(resource, err)
		if err == nil || !passes(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delay):
		}
	}
}

// passes says whether the same question may be answered later.
func passes(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonExpired, metav1.StatusReasonGone, metav1.StatusReasonTimeout, metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest:
		return false
	}
	return true
}
