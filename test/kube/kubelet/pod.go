package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// run is one pod on a node.
type run struct {
	pod    *v1.Pod // as it was first seen
	log    *log
	cancel context.CancelFunc // the object is gone, or its node is down
	gone   chan struct{}      // closed once nothing acts for it any more

	deleting sync.Once
	deleted  chan struct{} // closed when the object is marked for deletion
	grace    time.Duration // set before deleted is closed

	admitted bool // takes room of its node; guarded by Kubelet.mu
}

func newRun(pod *v1.Pod, cancel context.CancelFunc) *run {
	return &run{pod: pod, log: newLog(), cancel: cancel, gone: make(chan struct{}), deleted: make(chan struct{})}
}

// delete notes that the pod shall end. The first grace counts.
func (r *run) delete(seconds *int64) {
	r.deleting.Do(func() {
		if seconds != nil {
			r.grace = time.Duration(*seconds) * time.Second
		}
		close(r.deleted)
	})
}

// live is all that a node does for a pod, from wherever its status says that it
// is until its object is gone.
func (k *Kubelet) live(ctx context.Context, n *node, r *run) {
	if !over(r.pod) {
		started, e, ok := k.work(ctx, n, r)
		if !ok {
			return
		}
		now := time.Now()
		r.log.print(now, e.String())
		k.writeStatus(ctx, r.pod, ended(r.pod, started, now, e))
	}
	r.log.end()
	k.hold(r, false)
	select {
	case <-ctx.Done():
	case <-r.deleted:
		persist(ctx, func() error {
			return k.client.CoreV1().Pods(r.pod.Namespace).Delete(ctx, r.pod.Name, metav1.DeleteOptions{
				GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &r.pod.UID},
			})
		})
	}
}

// work lets the pod in, runs it and says how it ended; not ok means that ctx did
// first.
func (k *Kubelet) work(ctx context.Context, n *node, r *run) (started time.Time, e ending, ok bool) {
	s, err := read(r.pod, k.runFor)
	if err != nil {
		return started, ending{never: true, reason: "BadScript", message: err.Error()}, true
	}
	if r.pod.Status.Phase == v1.PodRunning && r.pod.Status.StartTime != nil {
		started = r.pod.Status.StartTime.Time
		k.hold(r, true)
	} else {
		if e, ok := k.admit(n, r); !ok {
			return started, e, true
		}
		switch r.wait(ctx, time.After(s.startIn)) {
		case lost:
			return started, e, false
		case deleted:
			return started, ending{never: true}, true
		}
		started = time.Now()
		r.log.print(started, s.log...)
		k.writeStatus(ctx, r.pod, running(r.pod, started))
	}
	at, e := s.end(started)
	var timer <-chan time.Time // none: for ever
	if !at.IsZero() {
		timer = time.After(time.Until(at))
	}
	switch r.wait(ctx, timer) {
	case lost:
		return started, e, false
	case deleted:
		in, e := s.stopped(r.grace)
		return started, e, sleep(ctx, in)
	}
	return started, e, true
}

// What a wait ended by.
const (
	elapsed = iota
	deleted
	lost
)

func (r *run) wait(ctx context.Context, timer <-chan time.Time) int {
	select {
	case <-ctx.Done():
		return lost
	case <-r.deleted:
		return deleted
	case <-timer:
		return elapsed
	}
}

func (k *Kubelet) writeStatus(ctx context.Context, pod *v1.Pod, s v1.PodStatus) {
	patch, err := statusPatch(pod, s)
	if err != nil {
		panic(fmt.Sprintf("BUG: encode a pod's status: %v", err))
	}
	persist(ctx, func() error {
		_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// over says whether the pod has ended.
func over(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}
